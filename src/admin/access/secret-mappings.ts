/** Validates the secret mappings of an integration and resolves their references. */

import type { SecretAddress } from '../../model/providers/integration-destinations.ts';
import { allowedHostsOf, parseAllowedHosts } from '../../model/secrets/allowed-hosts.ts';
import {
  type MappingTargets,
  mappingFaults,
  type SecretMapping,
  type StoredSecretMapping,
} from '../../model/secrets/secret-mapping.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as secretReferences from '../../store/resources/secret-references.ts';
import { coversAddress } from '../../trusted-hosts.ts';

/** Organisation and workspace of the integration. */
interface IntegrationLocation {
  readonly organisation_id: string;
  readonly workspace_id: string | null;
}

/**
 * Returns the mappings with the ids of their references, which are locked until the transaction ends.
 * Undefined (keep) and null (clear) are returned unchanged.
 *
 * @throws ApiError `invalid` for an unknown field, and for a reference that does not exist or that the
 *   workspace may not use
 */
export async function resolveSecretMappings(
  tx: Db,
  { organisation_id: organisationId, workspace_id: workspaceId }: IntegrationLocation,
  sent: readonly SecretMapping[] | null | undefined,
  targets: MappingTargets,
): Promise<StoredSecretMapping[] | null | undefined> {
  if (sent === undefined || sent === null) return sent;
  rejectFaults(prefixFaults(['secret_mappings'], mappingFaults(sent, targets)));
  const references = [...new Set(sent.map(({ secret_reference_id: reference }) => reference))];
  const rows = await secretReferences.listByReferencesForShare(tx, organisationId, references);
  const placed = await secretReferences.withWorkspaces(tx, organisationId, rows);
  const byName = new Map(
    placed
      .filter((row) => workspaceId === null || isAllowedIn(row, workspaceId))
      .flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]),
  );
  const idOf = (name: string) => byName.get(name) ?? byName.get(name.toLowerCase());
  const unknown = sent.flatMap(({ secret_reference_id: reference }, at) =>
    idOf(reference) === undefined ? [at] : [],
  );
  const message = 'is not a secret reference that can be used here';
  rejectFaults(
    unknown.map((at) => ({ path: ['secret_mappings', at, 'secret_reference_id'], message })),
  );
  return sent.map((mapping) => ({
    ...mapping,
    reference_id: idOf(mapping.secret_reference_id)!,
  }));
}

/**
 * Refuses an address to which the value of a mapped reference may not be sent. A reference that is older than
 * lists of hosts gets no further address.
 *
 * @throws ApiError `invalid` with the path of the address
 */
export async function requireAllowedHosts(
  tx: Db,
  organisationId: string,
  mappings: readonly StoredSecretMapping[],
  addresses: readonly Pick<SecretAddress, 'path' | 'address'>[],
): Promise<void> {
  if (mappings.length === 0 || addresses.length === 0) return;
  const ids = [...new Set(mappings.map(({ reference_id: id }) => id))];
  const rows = await secretReferences.listByReferencesForShare(tx, organisationId, ids);
  for (const row of rows) {
    const hosts = parseAllowedHosts(allowedHostsOf(row) ?? []);
    rejectFaults(
      addresses
        .filter(({ address }) => !coversAddress(hosts, new URL(address)))
        .map(({ path, address }) => ({
          path: [...path],
          message:
            `is on ${new URL(address).host}, to which the secret reference ${row.slug} may not be sent; ` +
            'add the host to its allowed_hosts',
        })),
    );
  }
}

function isAllowedIn(
  { allow_all_workspaces, workspaceIds }: secretReferences.SecretReferenceWithWorkspaces,
  workspaceId: string,
): boolean {
  return allow_all_workspaces !== 0 || workspaceIds.includes(workspaceId);
}
