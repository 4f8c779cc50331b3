/** Knows when a key is due for another value, what waits for the one before to end, and when to look again. */

import { type Difference, topLevelField } from '../diff/diff.ts';
import { type DesiredResource, identityKey, type LiveResource } from '../resources/resource-set.ts';

/** Why a key gets another value. */
export interface PlannedRotation {
  /** `unfinished`: a run has given it one already, and has not said that it was delivered. */
  readonly because: 'generation' | 'period' | 'unfinished';
  /** As recorded, and as the manifest has it. */
  readonly generation: { readonly from: number; readonly to: number };
  /** When the period was over; null for another reason. */
  readonly dueAt: string | null;
  /** How long the value before stays good once the new one is delivered, ms. */
  readonly overlapMs: number;
}

/** What a comparison finds of a key's rotation. */
export interface RotationState {
  readonly rotation: PlannedRotation | null;
  /** Why a rotation that is wanted waits; null for none. */
  readonly hint: string | null;
  /** When it is to be looked at again, ms since the epoch; null for never. */
  readonly nextAt: number | null;
}

const overlapMsUsual = 1_800_000;
const settled: RotationState = { rotation: null, hint: null, nextAt: null };

/** The generation that was carried out last. */
export function recordedGeneration({ source }: Pick<LiveResource, 'source'>): number {
  return source?.rotation_generation ?? 1;
}

/** A manifest without `rotation` has no say in it. */
export function wantedGeneration(
  { rotation }: Pick<DesiredResource, 'rotation'>,
  recorded: number,
): number {
  return rotation?.generation ?? recorded;
}

/** `fields` are those that an update would write; `now` in ms since the epoch. */
export function rotationOf(
  desired: DesiredResource,
  live: LiveResource,
  fields: readonly Difference[],
  now: number,
): RotationState {
  if (desired.identity.kind !== 'ApiKey') return settled;
  const from = recordedGeneration(live);
  const generation = { from, to: wantedGeneration(desired, from) };
  const isRaised = generation.to > generation.from;
  const { rotatedAt, transitionExpiresAt, nextRotationAt } = timesOf(live);
  const isBegun = rotatedAt !== null && transitionExpiresAt === null;
  if (desired.secretOutput === null)
    return isBegun ? { ...settled, hint: orphaned(desired) } : settled;
  const overlapMs = overlapOf(desired);
  const planned = (because: PlannedRotation['because']): RotationState => {
    const dueAt = because === 'period' ? new Date(nextRotationAt!).toISOString() : null;
    return { ...settled, rotation: { because, generation, dueAt, overlapMs } };
  };
  if (isBegun) {
    return planned(isRaised ? 'generation' : 'unfinished');
  }
  // A policy that changes has its moments counted anew.
  const isPeriodic =
    desired.rotation?.isPeriodic === true &&
    nextRotationAt !== null &&
    !fields.some((field) => topLevelField(field) === 'rotation_policy');
  const isDue = isPeriodic && nextRotationAt <= now;
  if (!isRaised && !isDue) return { ...settled, nextAt: isPeriodic ? nextRotationAt : null };
  if (transitionExpiresAt === null || transitionExpiresAt <= now) {
    return planned(isRaised ? 'generation' : 'period');
  }
  const hint = `${identityKey(desired.identity)} is rotated once its value before has ended, \
at ${new Date(transitionExpiresAt).toISOString()}`;
  return { ...settled, hint, nextAt: transitionExpiresAt };
}

function orphaned({ identity }: DesiredResource): string {
  return `${identityKey(identity)} was given another value that was not delivered, and has no \
secretOutput any more: the value before stays good; declare secretOutput again to finish`;
}

function timesOf({ rotation }: LiveResource) {
  const ms = (moment: string | null | undefined): number | null =>
    moment == null ? null : Date.parse(moment);
  return {
    rotatedAt: ms(rotation?.rotated_at),
    transitionExpiresAt: ms(rotation?.transition_expires_at),
    nextRotationAt: ms(rotation?.next_rotation_at),
  };
}

function overlapOf({ spec }: DesiredResource): number {
  const policy = spec.rotation_policy as { key_transition_period_ms?: number } | null | undefined;
  return policy?.key_transition_period_ms ?? overlapMsUsual;
}
