/** Merges the request defaults of a workspace, checks their guardrails and versions their parts. */
import { isDeepStrictEqual } from 'node:util';
import { defaultGuardrailFields } from '../../model/manifests/kind-references.ts';
import { readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { WorkspaceDefaults, WorkspaceUpdate } from '../../model/workspaces/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { unusableGuardrails } from '../access/guardrail-access.ts';

type Side = (typeof defaultGuardrailFields)[number];

export type NamedGuardrails = Pick<WorkspaceDefaults, Side>;

/** The column after an update. Null clears one key, or all keys. */
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

/** Guardrail references as sent; a side without guardrails is absent. */
export function namedGuardrails({ defaults }: Pick<StoredWorkspace, 'defaults'>): NamedGuardrails {
  const all = readDocument<WorkspaceDefaults>(defaults) ?? {};
  const sides = defaultGuardrailFields.flatMap((side) =>
    (all[side] ?? []).length === 0 ? [] : [[side, all[side]!] as const],
  );
  return Object.fromEntries(sides);
}

/** @throws ApiError `invalid` for a guardrail that the workspace cannot use; `path` is that of the sides */
export async function requireGuardrails(
  tx: Db,
  row: Pick<StoredWorkspace, 'id' | 'organisation_id'>,
  sent: { readonly [S in Side]?: readonly string[] | null | undefined },
  path: readonly string[],
): Promise<void> {
  for (const side of defaultGuardrailFields) {
    const references = sent[side] ?? [];
    if (references.length === 0) continue;
    const at = { organisation_id: row.organisation_id, workspace_id: row.id };
    const target = side.startsWith('mcp_') ? 'mcp_tools' : 'llm';
    const faultOf = await unusableGuardrails(tx, at, references, target);
    const message = references.map(faultOf).find((fault) => fault !== null);
    if (message !== undefined) throw validationError({ path: [...path, side], message });
  }
}

type Columns = Partial<StoredWorkspace>;

function withoutGuardrails({
  input_guardrails: _,
  output_guardrails: __,
  mcp_input_guardrails: ___,
  mcp_output_guardrails: ____,
  ...others
}: WorkspaceDefaults) {
  return others;
}

/** New version columns after a change: guardrails and the rest have separate versions. */
export function versionColumns(row: StoredWorkspace, columns: Columns): Columns {
  const { defaults = row.defaults, last_updated_at: _, ...others } = columns;
  const [before, after] = [row.defaults, defaults].map(
    (text) => readDocument<WorkspaceDefaults>(text) ?? {},
  ) as [WorkspaceDefaults, WorkspaceDefaults];
  const isSame = (key: Side) => isDeepStrictEqual(before[key], after[key]);
  const isOwn =
    Object.keys(others).length > 0 ||
    !isDeepStrictEqual(withoutGuardrails(before), withoutGuardrails(after));
  const next = row.version + 1;
  return {
    ...(defaultGuardrailFields.every(isSame) ? {} : { guardrails_version: next }),
    ...(isOwn ? { own_version: next } : {}),
  };
}

/**
 * Version for the `If-Match` check of a change that leaves the guardrails alone: every version since the
 * last change of the other parts is accepted.
 */
export function versionBesideGuardrails(
  { version, own_version }: Pick<StoredWorkspace, 'version' | 'own_version'>,
  ifMatch: number | null,
): number {
  return ifMatch !== null && ifMatch >= own_version && ifMatch <= version ? ifMatch : version;
}
