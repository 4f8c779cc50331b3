/** Computes the rotation times of API keys and service accounts from their policies. */
import { nextResetAt } from '../limits/periods.ts';
import { formatTimestamp, parseTimestamp } from '../wire/timestamp.ts';
import { validationError } from '../wire/validation-error.ts';
import {
  hasPeriod,
  type RotationPolicy,
  severalSchedulesFault,
  shortestPeriodMs,
  transitionMsMin,
} from './api-key.ts';

/**
 * The policy to store: as sent, and with a period the next rotation, which stays while the period does.
 *
 * @throws ApiError `invalid` for a time in the past, or for a time together with a period unless it
 *   repeats the one computed by the server
 */
export function plannedRotation(
  sent: RotationPolicy | null,
  before: RotationPolicy | null,
  now: number,
): RotationPolicy | null {
  if (sent === null) return null;
  if (!hasPeriod(sent)) {
    const next = sent.next_rotation_at;
    const isRepeated = next === before?.next_rotation_at;
    if (typeof next === 'string' && !isRepeated && parseTimestamp(next) <= now) {
      const path = ['rotation_policy', 'next_rotation_at'];
      throw validationError({ path, message: 'must be in the future' });
    }
    return sent;
  }
  const computed = before !== null && hasPeriod(before) ? before.next_rotation_at : undefined;
  if (typeof sent.next_rotation_at === 'string' && sent.next_rotation_at !== computed) {
    throw validationError({ path: ['rotation_policy'], message: severalSchedulesFault });
  }
  const current = before !== null && samePeriod(sent, before) ? before.next_rotation_at : undefined;
  return { ...sent, next_rotation_at: current ?? formatTimestamp(nextRotationAt(sent, now)) };
}

/**
 * The policy after a rotation. With a period, the next rotation is the first one after the transition, so
 * that a manual rotation shortly before a scheduled one replaces it.
 */
export function rotatedPolicy(
  policy: RotationPolicy | null,
  now: number,
  transitionMs: number,
): RotationPolicy | null {
  if (policy === null || !hasPeriod(policy)) return policy;
  return {
    ...policy,
    next_rotation_at: formatTimestamp(nextRotationAt(policy, now + transitionMs)),
  };
}

/**
 * Transition period of a replaced value in milliseconds: as requested, else the policy's, else the minimum.
 *
 * @throws ApiError `invalid` unless it is shorter than the rotation period
 */
export function transitionOf(policy: RotationPolicy | null, requested: number | undefined): number {
  const transitionMs = requested ?? policy?.key_transition_period_ms ?? transitionMsMin;
  const periodMs = policy === null ? null : shortestPeriodMs(policy);
  if (periodMs !== null && transitionMs >= periodMs) {
    const path = ['key_transition_period_ms'];
    throw validationError({ path, message: 'must be shorter than the rotation period' });
  }
  return transitionMs;
}

function nextRotationAt(policy: RotationPolicy, now: number): number {
  const schedule = {
    periodicReset: policy.rotation_period ?? null,
    periodicResetDays: policy.rotation_period_days ?? null,
  };
  return nextResetAt(schedule, null, now)!;
}

function samePeriod(one: RotationPolicy, other: RotationPolicy): boolean {
  return (
    (one.rotation_period ?? null) === (other.rotation_period ?? null) &&
    (one.rotation_period_days ?? null) === (other.rotation_period_days ?? null)
  );
}
