/** Knows what a key may be given: a life within bounds, and when its value is replaced. */

import { nextResetAt } from '../../model/limits/periods.ts';
import {
  hasPeriod,
  type RotationPolicy,
  severalSchedulesFault,
  shortestPeriodMs,
  transitionMsMin,
} from '../../model/people/api-key.ts';
import { formatTimestamp, parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as organisations from '../../store/resources/organisations.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import type { AdminRequest } from '../request/deps.ts';

const dayMs = 86_400_000;

/**
 * Checks an expiry (milliseconds, null for never) against the clock and the shorter of the
 * organisation's and the workspace's maximum life of keys, counted from `now`.
 *
 * @throws ApiError `invalid`.
 */
export async function requireAllowedExpiry(
  db: Db,
  caller: AdminRequest['caller'],
  workspaceMaxDays: number | null,
  expiresAt: number | null,
  now: number,
): Promise<void> {
  if (expiresAt !== null && expiresAt <= now) refuseExpiry('must lie in the future');
  const organisation = await organisations.findById(db, caller.organisationId);
  const bounds = [organisation?.api_key_max_ttl_days ?? null, workspaceMaxDays];
  const maxDays = Math.min(...bounds.filter((days) => days !== null));
  if (!Number.isFinite(maxDays)) return;
  if (expiresAt === null || expiresAt > now + maxDays * dayMs) {
    refuseExpiry(`must be set and lie within ${maxDays} days`);
  }
}

function refuseExpiry(fault: string): never {
  throw validationError({ path: ['expires_at'], message: fault });
}

/**
 * The policy as it is stored: as sent, and with a period its next moment, which stays what it was
 * while the period does.
 *
 * @throws ApiError `invalid` for a moment that has passed, or that comes with a period and is not the one
 *   that was told with one.
 */
export function plannedRotation(
  sent: RotationPolicy | null,
  before: RotationPolicy | null,
  now: number,
): RotationPolicy | null {
  if (sent === null) return null;
  if (!hasPeriod(sent)) {
    const given = sent.next_rotation_at;
    const repeated = given === before?.next_rotation_at;
    if (typeof given === 'string' && !repeated && parseTimestamp(given) <= now) {
      const path = ['rotation_policy', 'next_rotation_at'];
      throw validationError({ path, message: 'must lie in the future' });
    }
    return sent;
  }
  const told = before !== null && hasPeriod(before) ? before.next_rotation_at : undefined;
  if (typeof sent.next_rotation_at === 'string' && sent.next_rotation_at !== told) {
    throw validationError({ path: ['rotation_policy'], message: severalSchedulesFault });
  }
  const kept = before !== null && samePeriod(sent, before) ? before.next_rotation_at : undefined;
  return { ...sent, next_rotation_at: kept ?? formatTimestamp(nextRotationAt(sent, now)) };
}

/**
 * The policy once the value has been replaced: with a period, the next moment is the first that lies
 * beyond the transition, so that a rotation shortly before a moment stands for that of the moment.
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
 * How long a replaced value stays good, ms: as asked, else as the policy says, else the least.
 *
 * @throws ApiError `invalid` for what is as long as the period.
 */
export function transitionOf(policy: RotationPolicy | null, asked: number | undefined): number {
  const transitionMs = asked ?? policy?.key_transition_period_ms ?? transitionMsMin;
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

/** The workspace's bound on the life of its keys; none at organisation level. */
export function maxDaysOf(workspace: StoredWorkspace | null | undefined): number | null {
  return workspace?.api_key_max_ttl_days ?? null;
}
