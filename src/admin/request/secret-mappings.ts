/** Knows how the secret mappings of an integration are judged, and what is kept of them. */
import { below } from '../../model/fault.ts';
import {
  mappingFaults,
  type SecretMapping,
  type StoredSecretMapping,
} from '../../model/secret-mapping.ts';
import { refuseFaults } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as secretReferences from '../../store/tables/secret-references.ts';

/** Where the integration is. */
interface Place {
  readonly organisation_id: string;
  readonly workspace_id: string | null;
}

/**
 * The mappings with the ids of the references that they name, which stay until the transaction ends.
 * Undefined and null stay what they are: keep, and clear.
 *
 * @throws ApiError `invalid` for a reference that is not there, or that the workspace may not use.
 */
export async function findMappings(
  tx: Db,
  { organisation_id: organisationId, workspace_id: workspaceId }: Place,
  sent: readonly SecretMapping[] | null | undefined,
): Promise<StoredSecretMapping[] | null | undefined> {
  if (sent === undefined || sent === null) return sent;
  refuseFaults(below(['secret_mappings'], mappingFaults(sent)));
  const wanted = [...new Set(sent.map(({ secret_reference_id: named }) => named))];
  const found = await secretReferences.listByReferencesForShare(tx, organisationId, wanted);
  const placed = await secretReferences.withWorkspaces(tx, organisationId, found);
  const byName = new Map(
    placed
      .filter((row) => workspaceId === null || isUsable(row, workspaceId))
      .flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]),
  );
  const idOf = (name: string) => byName.get(name) ?? byName.get(name.toLowerCase());
  const strange = sent.flatMap(({ secret_reference_id: named }, at) =>
    idOf(named) === undefined ? [at] : [],
  );
  const message = 'names no secret reference that can be used here';
  refuseFaults(
    strange.map((at) => ({ path: ['secret_mappings', at, 'secret_reference_id'], message })),
  );
  return sent.map((mapping) => ({
    ...mapping,
    reference_id: idOf(mapping.secret_reference_id)!,
  }));
}

function isUsable(
  { allow_all_workspaces, workspaceIds }: secretReferences.PlacedSecretReference,
  workspaceId: string,
): boolean {
  return allow_all_workspaces !== 0 || workspaceIds.includes(workspaceId);
}
