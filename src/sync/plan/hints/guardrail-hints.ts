/** Warns of changes of guardrails that judge requests already, with the resources that attach them. */
import { isDeepStrictEqual } from 'node:util';
import {
  type DesiredResource,
  identityKey,
  type LiveResource,
  type Spec,
} from '../../resources/resource-set.ts';
import { referencesIn } from '../../resources/spec-paths.ts';
import type { DraftChange } from '../plan-model.ts';

/** Members of the actions that decide what happens to requests; the others are reported only. */
const deciding = [
  'deny',
  'mode',
  'async',
  'fail_closed',
  'on_unsupported',
  'scan_scope',
  'sequential',
] as const;

/** @param wanted with the references that they will have */
export function guardrailHints(
  changes: readonly DraftChange[],
  wanted: readonly DesiredResource[],
  live: readonly LiveResource[],
): string[] {
  const changed = changes.filter(
    ({ identity, action, desired }) =>
      identity.kind === 'Guardrail' &&
      (action === 'update' || action === 'adopt') &&
      desired?.spec.target !== 'mcp_tools',
  );
  if (changed.length === 0) return [];
  const users = usersOf(new Set(changed.map(({ id }) => id)), wanted, live);
  return changed.flatMap(({ id, live: before, desired }) => {
    const effect = before === null || desired === null ? null : effectOf(before.spec, desired.spec);
    const attached = (users.get(id) ?? []).toSorted();
    if (effect === null || attached.length === 0) return [];
    return [
      `${id} ${effect}, and ${listed(attached)} ${attached.length === 1 ? 'uses' : 'use'} it; ` +
        'gatewright guardrails test tells what would change, by a corpus or with --since 7d',
    ];
  });
}

/** Null for a change that no request notices. */
function effectOf(before: Spec, after: Spec): string | null {
  if (isSwitchedOn(actionsOf(before), actionsOf(after))) return 'will reject requests';
  const isAlike =
    isDeepStrictEqual(before.checks, after.checks) &&
    deciding.every((name) => isDeepStrictEqual(actionsOf(before)[name], actionsOf(after)[name]));
  return isAlike ? null : 'will judge requests otherwise';
}

type Actions = Readonly<Record<string, unknown>>;

function actionsOf({ actions }: Spec): Actions {
  return (actions ?? {}) as Actions;
}

/** Whether the guardrail begins to reject. */
function isSwitchedOn(before: Actions, after: Actions): boolean {
  const rejects = ({ deny, mode, async: isAsync }: Actions): boolean =>
    deny === true && mode !== 'monitor' && isAsync !== true;
  return rejects(after) && !rejects(before);
}

/** The resources that will name each guardrail, by its identity key. */
function usersOf(
  guardrails: ReadonlySet<string>,
  wanted: readonly DesiredResource[],
  live: readonly LiveResource[],
): Map<string, string[]> {
  const specs = new Map<string, Spec>();
  for (const { identity, spec } of live) specs.set(identityKey(identity), spec);
  for (const { identity, spec, absent } of wanted) {
    if (absent) specs.delete(identityKey(identity));
    else specs.set(identityKey(identity), spec);
  }
  const users = new Map<string, string[]>();
  for (const [id, spec] of specs) {
    for (const used of referencesIn(spec)) {
      if (!guardrails.has(used)) continue;
      users.set(used, [...(users.get(used) ?? []), id]);
    }
  }
  return users;
}

const listedMax = 3;

function listed(ids: readonly string[]): string {
  const first = ids.slice(0, listedMax).join(', ');
  const more = ids.length - listedMax;
  return more > 0 ? `${first} and ${more} more` : first;
}
