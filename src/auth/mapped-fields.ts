/** Knows which values of secret managers the fields of an integration take, and where each lies. */
import { createHash } from 'node:crypto';
import { readDocument } from '../model/json-record.ts';
import type { AuthConfig } from '../model/secret-manager.ts';
import { readMappings } from '../model/secret-mapping.ts';
import { Secret } from '../secret.ts';
import { SecretUnreadable } from '../secret-managers/kept-secret.ts';
import type { SecretPlace } from '../secret-managers/secret-managers.ts';
import type { PlacedSecretReference } from '../store/tables/secret-references.ts';
import type { Unsealer } from './keyring.ts';
import { authPlaces } from './reference-secrets.ts';
import { openSecrets } from './secret-values.ts';

/** A field that takes a value. */
export interface MappedField {
  /** `key`, or a path below the configurations. */
  readonly target: readonly string[];
  /** Field of the secret; null for all of it. */
  readonly secretKey: string | null;
  readonly isJson: boolean;
  readonly place: SecretPlace;
  readonly slug: string;
  readonly isAllowed: boolean;
}

/**
 * Of the workspace that asks, or of the organisation. References that are gone take no field: that they
 * are there is held by the database.
 */
export function readFields(
  mappings: string | null,
  references: readonly PlacedSecretReference[],
  unsealer: Unsealer,
  workspaceId: string | null,
): MappedField[] {
  const byId = new Map(references.map((row) => [row.id, row]));
  return readMappings(mappings).flatMap(
    ({ target_field: target, reference_id: id, secret_key: own, value_format: format }) => {
      const row = byId.get(id);
      if (row === undefined) return [];
      return [
        {
          target: pathOf(target),
          secretKey: own || row.secret_key,
          isJson: format === 'json',
          place: placeOf(row, unsealer),
          slug: row.slug,
          isAllowed:
            row.allow_all_workspaces !== 0 ||
            workspaceId === null ||
            row.workspaceIds.includes(workspaceId),
        },
      ];
    },
  );
}

function placeOf(row: PlacedSecretReference, unsealer: Unsealer): SecretPlace {
  const { id, manager_type: managerType, secret_path: path } = row;
  const mark = createHash('sha256').update(`${row.auth_config} ${path}`).digest('base64url');
  const opened = openSecrets(unsealer, authPlaces(id), readDocument<AuthConfig>(row.auth_config)!);
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

/** `key`, `configurations.custom_headers.X-Key`, or the name of a configuration by itself. */
function pathOf(target: string): string[] {
  const [first = '', ...rest] = target.split('.');
  const path = first === 'configurations' && rest.length > 0 ? rest : [first, ...rest];
  // Names of headers may have dots in them.
  return path.length > 2 ? [path[0]!, path.slice(1).join('.')] : path;
}

/** @throws SecretUnreadable for a text that no header can be */
export function headerText(text: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new SecretUnreadable('the value cannot be sent as a header', false);
}
