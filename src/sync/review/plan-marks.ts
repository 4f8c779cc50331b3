/**
 * Digests what a plan depends on, to detect whether it would still be the same and what has
 * changed.
 */
import { fingerprintOf } from '../../model/manifests/fingerprint.ts';
import { sortedText } from '../diff/diff.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import { participles } from '../report/summary.ts';
import type { DesiredResource, LiveResource, SpecJson } from '../resources/resource-set.ts';
import { isSecret, mapSpec, pointerOf } from '../resources/spec-paths.ts';

/** Digests of one planned change; all are keyed, so that values cannot be guessed by trial. */
interface ChangeMark {
  readonly action: PlannedChange['action'];
  /** Sent as `If-Match`; null for a resource that does not exist yet. */
  readonly version: number | null;
  /** Digest of the live resource with its owner record. */
  readonly live: string | null;
  /** Digest of the manifest, including secret values. */
  readonly wanted: string | null;
  /** Fingerprints by JSON pointer and origin: `/configurations/headers/x env:X`. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Digest of the ids and slugs of its references. */
  readonly targets: string;
  /** Digest of what is done and in which order. */
  readonly course: string;
}

export interface PlanMarks {
  /** Keyed by identity key. */
  readonly changes: Readonly<Record<string, ChangeMark>>;
  /** Block reasons of the other resources, by identity key. */
  readonly blocked: Readonly<Record<string, string>>;
}

/** @param key the fingerprint key of the plan's owner */
export function planMarks(plan: Plan, key: Buffer): PlanMarks {
  const digest = (value: unknown): string => fingerprintOf(key, sortedText(value as SpecJson));
  const changes = plan.changes.map((change) => [change.id, markOf(change, plan, digest)] as const);
  return {
    changes: Object.fromEntries(changes),
    blocked: Object.fromEntries(plan.blocked.map(({ id, reason }) => [id, reason])),
  };
}

function markOf(change: PlannedChange, plan: Plan, digest: (value: unknown) => string): ChangeMark {
  const { action, live, desired, fields, dependsOn, last, reason, prune, rotation } = change;
  const named = [...new Set([...change.needs, ...change.holds])].sort();
  const targets = named.map((id) => {
    const target = plan.live.get(id);
    return [id, target?.id ?? null, target?.slug ?? null];
  });
  return {
    action,
    version: live?.version ?? null,
    live: live === null ? null : digest(standing(live)),
    wanted: desired === null ? null : digest(terms(desired)),
    secrets: desired === null ? {} : fingerprintsIn(desired),
    targets: digest(targets),
    course: digest({ fields, dependsOn, last, reason, prune, rotation }),
  };
}

function standing({ id, slug, owner, declared, base, source, spec }: LiveResource): unknown {
  return { id, slug, owner, declared, base, source, spec };
}

function terms(desired: DesiredResource): unknown {
  const { spec, absent, onRemoval, previousNames, renamedBefore } = desired;
  const { secretOutput, rotation, ignoreFields = null, protected: isProtected } = desired;
  return {
    spec,
    absent,
    onRemoval,
    previousNames,
    renamedBefore,
    secretOutput,
    rotation,
    ignoreFields,
    isProtected,
  };
}

function fingerprintsIn({ spec }: DesiredResource): Record<string, string> {
  const found: Record<string, string> = {};
  mapSpec(spec, (value, segments) => {
    if (!isSecret(value)) return undefined;
    found[`${pointerOf(segments)} ${value.$secret}`] = value.fingerprint;
    return value;
  });
  return found;
}

/**
 * Returns a sentence for each resource whose plan would be different now; none while the plan is
 * valid.
 */
export function changedSince(then: PlanMarks, now: PlanMarks, plan: Plan): string[] {
  const messages = new Map(plan.blocked.map(({ id, message }) => [id, message]));
  const ids = [then.changes, then.blocked, now.changes, now.blocked].flatMap(Object.keys);
  return [...new Set(ids)].sort().flatMap((id) => {
    const [before, after] = [then.changes[id], now.changes[id]];
    if (before !== undefined && after !== undefined) {
      const why = changed(before, after);
      return why === null ? [] : [`${id}: ${why}`];
    }
    if (after !== undefined) return [`${id}: would now be ${participles[after.action]}`];
    const [heldThen, heldNow] = [then.blocked[id], now.blocked[id]];
    if (heldNow !== undefined) {
      return heldNow === heldThen ? [] : [`${id}: is held back now: ${messages.get(id)}`];
    }
    return before === undefined
      ? [`${id}: is no longer held back`]
      : [`${id}: was to be ${participles[before.action]}, and nothing is to be done now`];
  });
}

function changed(then: ChangeMark, now: ChangeMark): string | null {
  if (then.action !== now.action) {
    return `was to be ${participles[then.action]}, and is to be ${participles[now.action]} now`;
  }
  if (then.version !== now.version) {
    return `was changed on the server (version ${then.version} then, ${now.version} now)`;
  }
  const secret = Object.keys({ ...then.secrets, ...now.secrets }).find(
    (place) => then.secrets[place] !== now.secrets[place],
  );
  if (secret !== undefined) {
    const [pointer, ...origin] = secret.split(' ');
    // A value written in the manifest is identified only by its position.
    const from = origin.join(' ').startsWith('text:')
      ? pointer
      : `${pointer} (${origin.join(' ')})`;
    return `the secret value of ${from} changed`;
  }
  if (then.live !== now.live) return 'its owner record on the server changed';
  if (then.wanted !== now.wanted) return 'its manifest has another result now';
  if (then.targets !== now.targets) return 'its references lead to other resources now';
  return then.course === now.course ? null : 'it would be carried out differently now';
}
