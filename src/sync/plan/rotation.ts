/**
 * Decides when a key is due for rotation, what waits for the end of the previous value, and when to
 * check again.
 */
import { hasCredential } from '../../model/kinds/kinds.ts';
import { type Difference, topLevelField } from '../diff/diff.ts';
import { type DesiredResource, identityKey, type LiveResource } from '../resources/resource-set.ts';

/** Why a key is rotated. */
export interface PlannedRotation {
  /** `unfinished` means that an earlier run set a new value and did not record its delivery. */
  readonly because: 'generation' | 'period' | 'unfinished';
  /** The recorded generation and that of the manifest. */
  readonly generation: { readonly from: number; readonly to: number };
  /** End of the period; null for other reasons. */
  readonly dueAt: string | null;
  /** How long the previous value stays valid after the delivery of the new one, ms. */
  readonly overlapMs: number;
}

/** The rotation state of a compared key. */
export interface RotationState {
  readonly rotation: PlannedRotation | null;
  /** Why a due rotation waits; null if it does not. */
  readonly hint: string | null;
  /** Time of the next check, ms since the epoch; null for never. */
  readonly nextAt: number | null;
}

const overlapMsUsual = 1_800_000;
const settled: RotationState = { rotation: null, hint: null, nextAt: null };

/** The generation that was carried out last. */
export function recordedGeneration({ source }: Pick<LiveResource, 'source'>): number {
  return source?.rotation_generation ?? 1;
}

/** A manifest without `rotation` leaves the generation alone. */
export function wantedGeneration(
  { rotation }: Pick<DesiredResource, 'rotation'>,
  recorded: number,
): number {
  return rotation?.generation ?? recorded;
}

/**
 * @param fields what an update would write
 * @param now ms since the epoch
 */
export function rotationOf(
  desired: DesiredResource,
  live: LiveResource,
  fields: readonly Difference[],
  now: number,
): RotationState {
  if (!hasCredential(desired.identity.kind)) return settled;
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
  // Changing the policy restarts its periods.
  const isPeriodic =
    desired.rotation?.isPeriodic === true &&
    nextRotationAt !== null &&
    !fields.some((field) => topLevelField(field) === 'rotation_policy');
  const isDue = isPeriodic && nextRotationAt <= now;
  if (!isRaised && !isDue) return { ...settled, nextAt: isPeriodic ? nextRotationAt : null };
  if (transitionExpiresAt === null || transitionExpiresAt <= now) {
    return planned(isRaised ? 'generation' : 'period');
  }
  const hint = `${identityKey(desired.identity)} is rotated when its previous value has expired, \
at ${new Date(transitionExpiresAt).toISOString()}`;
  return { ...settled, hint, nextAt: transitionExpiresAt };
}

function orphaned({ identity }: DesiredResource): string {
  return `${identityKey(identity)} was rotated, but the new value was not delivered, and it no longer \
has secretOutput: the previous value stays valid; declare secretOutput again to finish`;
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
