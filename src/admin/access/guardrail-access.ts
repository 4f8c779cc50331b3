/** Checks access to guardrails: scopes, look-up by path, and which guardrails a resource may reference. */
import type { Db } from '../../store/connection/db.ts';
import * as guardrails from '../../store/resources/guardrails.ts';
import type { AdminRequest } from '../request/deps.ts';
import { findOr404, requireWorkspace } from '../request/scoping.ts';
import { createLocationScopes } from './location-scopes.ts';

export const guardrailScopes = createLocationScopes({
  organisation: 'organisation_guardrails',
  workspace: 'guardrails',
});

/**
 * Returns the guardrail named by the path; it must be in the workspace that the request names, if any.
 * For an update it is locked until the transaction ends.
 *
 * @throws ApiError `notFound`; `forbidden` without the scope for its location
 */
export async function findGuardrailOfPath(
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
 * Looks up, by UUID or slug, the guardrails that a resource of a workspace (null: of the organisation)
 * references: those of the same workspace and of the organisation. Locks them until the transaction
 * ends. The returned function says why one cannot judge requests for the target; null when it can.
 */
export async function unusableGuardrails(
  tx: Db,
  at: { readonly organisation_id: string; readonly workspace_id: string | null },
  names: readonly string[],
  target: guardrails.StoredGuardrail['target'],
): Promise<(name: string) => string | null> {
  const rows = await guardrails.listByReferencesForShare(tx, at.organisation_id, names);
  const reachable = new Map(
    rows
      .filter((row) => row.workspace_id === null || row.workspace_id === at.workspace_id)
      .flatMap((row) => [[row.id, row] as const, [row.slug, row] as const]),
  );
  return (name) => {
    // UUIDs ignore case, slugs do not.
    const row = reachable.get(name) ?? reachable.get(name.toLowerCase());
    if (row === undefined) return `refers to an unknown guardrail, ${name}`;
    if (row.status !== 'active') return `refers to an archived guardrail, ${name}`;
    return row.target === target
      ? null
      : `refers to ${name}, a guardrail with target ${row.target}`;
  };
}
