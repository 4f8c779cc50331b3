/** Knows what requests in a workspace start from: how it is merged, which guardrails it may name, and what a change of it counts as. */
import { isDeepStrictEqual } from 'node:util';
import { guardrailFields } from '../../model/manifests/kind-references.ts';
import { readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { WorkspaceDefaults, WorkspaceUpdate } from '../../model/workspaces/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { reachableStatuses } from '../access/guardrail-access.ts';

type Side = (typeof guardrailFields)[number];

export type NamedGuardrails = Pick<WorkspaceDefaults, Side>;

/** The column after an update. Null clears one key, or all of them. */
export function mergedDefaults(
  stored: string | null,
  sent: WorkspaceUpdate['defaults'],
): string | null {
  if (sent === null || sent === undefined) return null;
  const before = readDocument<WorkspaceDefaults>(stored) ?? {};
  const merged = Object.entries({ ...before, ...sent }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return rewriteDocument(stored, merged.length === 0 ? null : Object.fromEntries(merged));
}

/** As they were named; absent where a side has none. */
export function namedGuardrails({ defaults }: Pick<StoredWorkspace, 'defaults'>): NamedGuardrails {
  const all = readDocument<WorkspaceDefaults>(defaults) ?? {};
  const sides = guardrailFields.flatMap((side) =>
    (all[side] ?? []).length === 0 ? [] : [[side, all[side]!] as const],
  );
  return Object.fromEntries(sides);
}

/** @throws ApiError `invalid` when a guardrail is not one this workspace can use; `path` leads to its side. */
export async function requireGuardrails(
  tx: Db,
  row: Pick<StoredWorkspace, 'id' | 'organisation_id'>,
  sent: { readonly [S in Side]?: readonly string[] | null | undefined },
  path: readonly string[],
): Promise<void> {
  for (const side of guardrailFields) {
    const references = sent[side] ?? [];
    if (references.length === 0) continue;
    const at = { organisation_id: row.organisation_id, workspace_id: row.id };
    const statusOf = await reachableStatuses(tx, at, references);
    const unknown = references.filter((name) => statusOf(name) !== 'active');
    if (unknown.length === 0) continue;
    const message = `names unknown guardrails ${unknown.join(', ')}`;
    throw validationError({ path: [...path, side], message });
  }
}

type Columns = Partial<StoredWorkspace>;

/** All but the guardrails. */
function rest({ input_guardrails: _, output_guardrails: __, ...others }: WorkspaceDefaults) {
  return others;
}

/** Which parts of a workspace a change counts for, as columns: its guardrails have a version of their own. */
export function countedParts(row: StoredWorkspace, columns: Columns): Columns {
  const { defaults = row.defaults, last_updated_at: _, ...others } = columns;
  const [before, after] = [row.defaults, defaults].map(
    (text) => readDocument<WorkspaceDefaults>(text) ?? {},
  ) as [WorkspaceDefaults, WorkspaceDefaults];
  const isSame = (key: Side) => isDeepStrictEqual(before[key], after[key]);
  const isOwn = Object.keys(others).length > 0 || !isDeepStrictEqual(rest(before), rest(after));
  const next = row.version + 1;
  return {
    ...(guardrailFields.every(isSame) ? {} : { guardrails_version: next }),
    ...(isOwn ? { own_version: next } : {}),
  };
}

/**
 * The version to hold a change against that leaves the guardrails as they are: any since the rest was
 * changed last is as good as the newest.
 */
export function versionBesideGuardrails(
  { version, own_version }: Pick<StoredWorkspace, 'version' | 'own_version'>,
  ifMatch: number | null,
): number {
  return ifMatch !== null && ifMatch >= own_version && ifMatch <= version ? ifMatch : version;
}
