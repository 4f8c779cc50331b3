/** Checks the expiry of API keys and computes their rotation times. */

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
 * Checks an expiry (milliseconds, null for never) against the current time and the shorter of the
 * organisation's and the workspace's maximum lifetime, counted from `now`.
 *
 * @throws ApiError `invalid`
 */
export async function requireAllowedExpiry(
  db: Db,
  caller: AdminRequest['caller'],
  workspaceMaxDays: number | null,
  expiresAt: number | null,
  now: number,
): Promise<void> {
  if (expiresAt !== null && expiresAt <= now) refuseExpiry('must be in the future');
  const organisation = await organisations.findById(db, caller.organisationId);
  const bounds = [organisation?.api_key_max_ttl_days ?? null, workspaceMaxDays];
  const maxDays = Math.min(...bounds.filter((days) => days !== null));
  if (!Number.isFinite(maxDays)) return;
  if (expiresAt === null || expiresAt > now + maxDays * dayMs) {
    refuseExpiry(`must be set, at most ${maxDays} days ahead`);
  }
}

function refuseExpiry(fault: string): never {
  throw validationError({ path: ['expires_at'], message: fault });
}

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

/** The workspace's limit on the lifetime of its keys; none for organisation keys. */
export function maxDaysOf(workspace: StoredWorkspace | null | undefined): number | null {
  return workspace?.api_key_max_ttl_days ?? null;
}
