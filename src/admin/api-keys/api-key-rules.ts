/** Checks the expiry of API keys against the maximum lifetimes of organisation and workspace. */

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
  await requireWithinMaximum(db, caller, workspaceMaxDays, expiresAt, now);
}

/**
 * As {@link requireAllowedExpiry}, for an expiry that is not new: a rotation does not prolong a key that
 * outlives the maximum.
 *
 * @throws ApiError `invalid`
 */
export async function requireWithinMaximum(
  db: Db,
  caller: AdminRequest['caller'],
  workspaceMaxDays: number | null,
  expiresAt: number | null,
  now: number,
): Promise<void> {
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

/** The workspace's limit on the lifetime of its keys; none for organisation keys. */
export function maxDaysOf(workspace: StoredWorkspace | null | undefined): number | null {
  return workspace?.api_key_max_ttl_days ?? null;
}
