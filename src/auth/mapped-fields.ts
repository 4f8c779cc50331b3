/** Resolves which fields of an integration take values from secret managers, and where those values are. */
import { createHash } from 'node:crypto';
import { allowedHostsOf, parseAllowedHosts } from '../model/secrets/allowed-hosts.ts';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import { mappedPath, readMappings } from '../model/secrets/secret-mapping.ts';
import { readDocument } from '../model/wire/json-record.ts';
import { Secret } from '../secret.ts';
import { SecretUnreadable } from '../secret-managers/managed-secret.ts';
import type { SecretLocation } from '../secret-managers/secret-managers.ts';
import type { ReadableReference } from '../store/resources/secret-references.ts';
import { coversAddress, type TrustedHosts } from '../trusted-hosts.ts';
import type { Unsealer } from './keyring.ts';
import { authSecretLocations } from './reference-secrets.ts';
import { openSecrets } from './secret-values.ts';

/** A field that takes its value from a secret manager. */
export interface MappedField {
  /** `key`, or a path in the configurations. */
  readonly target: readonly string[];
  /** Field of the secret; null for the whole secret. */
  readonly secretKey: string | null;
  readonly isJson: boolean;
  readonly place: SecretLocation;
  readonly slug: string;
  readonly isAllowed: boolean;
  /**
   * Hosts to which the value may be sent beside the service's own address; null for a reference that is
   * older than such lists: the addresses that used it stay valid.
   */
  readonly hosts: TrustedHosts | null;
}

/**
 * `workspaceId` is the requesting workspace, or null for the organisation. A mapping without its
 * reference is skipped; a foreign key makes sure that this does not happen.
 */
export function resolveMappedFields(
  mappings: string | null,
  references: readonly ReadableReference[],
  unsealer: Unsealer,
  workspaceId: string | null,
): MappedField[] {
  const byId = new Map(references.map((row) => [row.id, row]));
  return readMappings(mappings).flatMap(
    ({ target_field: target, reference_id: id, secret_key: own, value_format: format }) => {
      const row = byId.get(id);
      if (row === undefined) return [];
      const hosts = allowedHostsOf(row);
      return [
        {
          target: mappedPath(target),
          secretKey: own || row.secret_key,
          isJson: format === 'json',
          place: placeOf(row, unsealer),
          slug: row.slug,
          isAllowed:
            row.allow_all_workspaces !== 0 ||
            workspaceId === null ||
            row.workspaceIds.includes(workspaceId),
          hosts: hosts === null ? null : parseAllowedHosts(hosts),
        },
      ];
    },
  );
}

function placeOf(row: ReadableReference, unsealer: Unsealer): SecretLocation {
  const { id, manager_type: managerType, secret_path: path } = row;
  const mark = createHash('sha256').update(`${row.auth_config} ${path}`).digest('base64url');
  const opened = openSecrets(
    unsealer,
    authSecretLocations(id),
    readDocument<AuthConfig>(row.auth_config)!,
  );
  const { organisation_id: organisationId } = row;
  return {
    id,
    organisationId,
    mark,
    managerType,
    path,
    auth: new Secret(opened, `secret reference ${id}`),
  };
}

/** The first field whose value may not be sent to the address; undefined when all may. */
export function findBarredField(
  fields: readonly MappedField[],
  address: string,
): MappedField | undefined {
  const url = new URL(address);
  return fields.find(({ hosts }) => hosts !== null && !coversAddress(hosts, url));
}

/** @throws SecretUnreadable for a text that cannot be a header value */
export function headerText(text: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new SecretUnreadable('the value cannot be sent as a header', false);
}
