/** Finds the resources that use what a plan changes, directly and indirectly, in the live state. */
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';
import { referencesIn } from '../resources/spec-paths.ts';
import type { Plan, PlannedChange } from './plan-model.ts';

/** The resources that one change affects. */
export interface Impact {
  /**
   * Identity keys in order, grouped by kind in the order of the kinds; absent kinds are not
   * affected.
   */
  readonly reached: ReadonlyMap<KindName, readonly string[]>;
  /** The latest use of the queried keys; null when none was ever used. */
  readonly lastUse: { readonly at: string; readonly by: string } | null;
  /** Number of keys queried: limited for large impacts, 0 when the server does not report uses. */
  readonly keysQueried: number;
}

/** Keyed by the identity key of the change. */
export type Impacts = ReadonlyMap<string, Impact>;

/** Kinds that nothing uses; they define terms for other resources. */
const aboutOthers: readonly KindName[] = [
  'UsageLimitPolicy',
  'RateLimitPolicy',
  'GuardrailMcpBinding',
];

/**
 * Returns, by identity key of the change, the affected resources: direct and indirect users, a key
 * itself, and the subjects of a policy or binding. Changes without effect on the server are left
 * out.
 */
export function findAffected(plan: Plan): Map<string, LiveResource[]> {
  const effective = plan.changes.filter(hasEffect);
  if (effective.length === 0) return new Map();
  const users = usersIn(plan);
  const reach = effective.map((change) => [change.id, reachedBy(change, plan, users)] as const);
  return new Map(reach.filter(([, reached]) => reached.length > 0));
}

function hasEffect(change: PlannedChange): boolean {
  const { action } = change;
  if (action === 'retain') return false;
  if (action !== 'update' && action !== 'adopt') return true;
  return change.fields.some(({ difference }) => difference !== 'recorded');
}

function reachedBy(
  change: PlannedChange,
  { live }: Plan,
  users: ReadonlyMap<string, readonly string[]>,
): LiveResource[] {
  const isAbout = aboutOthers.includes(change.identity.kind);
  const begin = isAbout ? subjectsOf(change) : [change.id];
  const reached = new Set(begin);
  for (const id of reached) for (const user of users.get(id) ?? []) reached.add(user);
  // A key is used itself, so it counts as affected.
  if (!isAbout && change.identity.kind !== 'ApiKey') reached.delete(change.id);
  return [...reached].sort().flatMap((id) => live.get(id) ?? []);
}

/** Returns the subjects before and after the change; the workspace when it names no key. */
function subjectsOf({ live, desired }: PlannedChange): string[] {
  const named = [live?.spec, desired?.spec].flatMap((spec) =>
    spec === undefined ? [] : referencesIn(spec),
  );
  const closer = named.filter((id) => !id.startsWith('Workspace/'));
  return closer.length > 0 ? closer : named;
}

function usersIn({ live }: Plan): Map<string, string[]> {
  const users = new Map<string, string[]>();
  for (const [id, { identity, spec }] of live) {
    if (aboutOthers.includes(identity.kind)) continue;
    for (const used of referencesIn(spec)) {
      const known = users.get(used);
      if (known === undefined) users.set(used, [id]);
      else known.push(id);
    }
  }
  return users;
}

/**
 * @param lastUses by key id, RFC 3339, null for a key that was never used; only for queried keys
 */
export function summarizeImpact(
  reached: readonly LiveResource[],
  lastUses: ReadonlyMap<string, string | null>,
): Impact {
  const queried = reached.filter(({ id }) => lastUses.has(id));
  const uses = queried.flatMap(({ id, identity }) => {
    const at = lastUses.get(id);
    return at == null ? [] : [{ at, by: identityKey(identity) }];
  });
  const byKind = Map.groupBy(reached, ({ identity }) => identity.kind);
  const kinds = kindNames.filter((kind) => byKind.has(kind));
  return {
    reached: new Map(
      kinds.map((kind) => [kind, byKind.get(kind)!.map(({ identity }) => identityKey(identity))]),
    ),
    lastUse: uses.toSorted((one, two) => (one.at < two.at ? 1 : -1))[0] ?? null,
    keysQueried: queried.length,
  };
}
