/** Knows who may write for an owner: only who holds its lease, told by the fence that every write carries. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/errors.ts';
import { covers } from '../../model/scopes.ts';
import { formatTimestamp } from '../../model/timestamp.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as syncLeases from '../../store/tables/sync-leases.ts';
import type { AdminRequest } from './deps.ts';

/** What a caller needs to take leases, and so to write `managed_by` at all. */
export const claimScope = 'managed_resources.claim';

/**
 * Lets a write in the name of `owner` pass, and keeps the lease from changing hands until its
 * transaction ends. Call it last, so that whoever waits for it holds up nobody else.
 *
 * @throws ApiError `forbidden` without the scope; `invalid` where the fence or the owner is missing;
 *   `conflict` with param `gatewright-fence` once another run, or nobody, holds the lease.
 */
export async function requireLease(tx: Db, author: LeaseAuthor, owner: string): Promise<void> {
  await requireHeld(tx, author, owner, syncLeases.findForShare);
}

/** As {@link requireLease}, and no other write for the owner passes until the transaction ends. */
export async function requireLeaseAlone(tx: Db, author: LeaseAuthor, owner: string): Promise<void> {
  await requireHeld(tx, author, owner, syncLeases.findForUpdate);
}

type LeaseAuthor = Pick<AdminRequest, 'caller' | 'owner' | 'fence'>;

/** The owner that the lease's headers name, for a write that is about the owner itself. */
export function ownerOfLease(author: LeaseAuthor): string {
  if (author.owner !== null) return author.owner;
  const message = 'is required: whose lease this run holds';
  throw validationError({ path: ['gatewright-owner'], message });
}

async function requireHeld(
  tx: Db,
  author: LeaseAuthor,
  owner: string,
  find: typeof syncLeases.findForShare,
): Promise<void> {
  const { caller, fence } = author;
  if (!covers(caller.scopes, claimScope)) {
    const message = `User not allowed to access the resource: ${claimScope} is missing`;
    throw new ApiError('forbidden', message, 'managed_by');
  }
  if (author.owner !== owner || fence === null) {
    const message = `a write for owner "${owner}" carries the headers gatewright-owner and \
gatewright-fence of its lease: take it with PUT /admin/v2/gatewright/leases/${owner}`;
    throw validationError({ path: ['gatewright-fence'], message });
  }
  const held = await find(tx, caller.organisationId, owner);
  if (held === undefined || held.fence !== fence || held.principal_id !== caller.id) {
    throw new ApiError('conflict', lostMessage(owner, held, caller), 'gatewright-fence');
  }
}

function lostMessage(
  owner: string,
  held: syncLeases.SyncLeaseRow | undefined,
  caller: Principal,
): string {
  const lost = `The lease of owner "${owner}" is not yours any more`;
  const isOthers = held !== undefined && held.run_id !== '' && held.principal_id === caller.id;
  return isOthers ? `${lost}: ${heldBy(held)}` : lost;
}

/** `sync on host-1 (process 12) holds it until 2027-01-04T08:00:00.000Z, since 2027-01-04T07:00:00.000Z`. */
export function heldBy({ holder, held_since, expires_at }: syncLeases.SyncLeaseRow): string {
  const [until, since] = [expires_at, held_since].map(formatTimestamp);
  return `${holder} holds it until ${until}, since ${since}`;
}
