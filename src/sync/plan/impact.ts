/** Knows what uses what a plan changes, directly and through others: pure, of what is on the server. */
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';
import { referencesIn } from '../resources/spec-paths.ts';
import type { Plan, PlannedChange } from './planned.ts';

/** What one change reaches. */
export interface Impact {
  /** Identity keys, in order; kinds in the order of the kinds, none that is not reached. */
  readonly reached: ReadonlyMap<KindName, readonly string[]>;
  /** The latest use of the keys that were asked about; null where none of them was ever used. */
  readonly lastUse: { readonly at: string; readonly by: string } | null;
  /** How many of the keys were asked about: not all of very many, and none of a server that does not tell. */
  readonly keysAsked: number;
}

/** By identity key of the change. */
export type Impacts = ReadonlyMap<string, Impact>;

/** They are used by nothing, and say of others what holds for those. */
const aboutOthers: readonly KindName[] = [
  'UsageLimitPolicy',
  'RateLimitPolicy',
  'GuardrailMcpBinding',
];

/**
 * By identity key of the change the resources that it reaches: those that refer to what is changed, and
 * those that refer to them; a key itself; what a policy or a binding is about. What has no effect on the server,
 * or reaches nothing, has none.
 */
export function reachOf(plan: Plan): Map<string, LiveResource[]> {
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
  // A key is what is used, not only what uses something.
  if (!isAbout && change.identity.kind !== 'ApiKey') reached.delete(change.id);
  return [...reached].sort().flatMap((id) => live.get(id) ?? []);
}

/** What it is about as it is and as it will be; where it names no key, its workspace is. */
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
 * @param lastUses by id, RFC 3339, null for a key that was never used; only of those that were asked about
 */
export function impactOf(
  reached: readonly LiveResource[],
  lastUses: ReadonlyMap<string, string | null>,
): Impact {
  const asked = reached.filter(({ id }) => lastUses.has(id));
  const uses = asked.flatMap(({ id, identity }) => {
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
    keysAsked: asked.length,
  };
}
