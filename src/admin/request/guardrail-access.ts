/** Knows who may reach a guardrail: which scope a request needs, which one it names, and who may use which. */
import type { Db } from '../../store/connection/db.ts';
import * as guardrails from '../../store/tables/guardrails.ts';
import type { AdminRequest } from './deps.ts';
import { placedScopes } from './placed-scopes.ts';
import { findOr404, requireWorkspace } from './scoping.ts';

export const guardrailScopes = placedScopes({
  organisation: 'organisation_guardrails',
  workspace: 'guardrails',
});

/**
 * The guardrail the path names, for what `action` is done with it, in the workspace that the request
 * names too, if any.
 *
 * It is held until the transaction ends where it is for an update.
 *
 * @throws ApiError `notFound`; `forbidden` without the scope for where it is.
 */
export async function findGuardrail(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  workspace: string | null | undefined,
  action: 'read' | 'update',
): Promise<guardrails.StoredGuardrail> {
  const find = action === 'read' ? guardrails.findByIdOrSlug : guardrails.findByIdOrSlugForUpdate;
  const row = findOr404(caller, await find(db, caller.organisationId, params.guardrailId!));
  guardrailScopes.require(caller, row, action);
  await requireWorkspace(db, caller, row, workspace);
  return row;
}

/**
 * Looks up, by UUID or slug, the guardrails that a resource of the workspace (null: of the
 * organisation) names: those of the same workspace and of the organisation. They stay until the
 * transaction ends. Yields the status of each, undefined for one out of reach.
 */
export async function statusOfReachable(
  tx: Db,
  at: { readonly organisation_id: string; readonly workspace_id: string | null },
  names: readonly string[],
): Promise<(name: string) => guardrails.StoredGuardrail['status'] | undefined> {
  const rows = await guardrails.listByReferencesForShare(tx, at.organisation_id, names);
  const reachable = new Map(
    rows
      .filter((row) => row.workspace_id === null || row.workspace_id === at.workspace_id)
      .flatMap((row) => [[row.id, row.status] as const, [row.slug, row.status] as const]),
  );
  // Ids are the same in any case, slugs are not.
  return (name) => reachable.get(name) ?? reachable.get(name.toLowerCase());
}
