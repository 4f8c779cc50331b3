/** Requires the lease of an owner for changes made on its behalf, checked by the fence number. */
import type { Principal } from '../../auth/principal.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as syncLeases from '../../store/sync/sync-leases.ts';
import type { AdminRequest } from './deps.ts';

/** Scope needed to take leases, and therefore to write `managed_by`. */
export const claimScope = 'managed_resources.claim';

/**
 * Requires the lease of `owner` and locks it until the transaction ends, so that it cannot change hands.
 * Call it last, so that a wait for the lease blocks nobody else.
 *
 * @throws ApiError `forbidden` without the scope; `invalid` when the fence or the owner is missing;
 *   `conflict` with param `gatewright-fence` when another run, or nobody, holds the lease
 */
export async function requireLease(tx: Db, author: LeaseAuthor, owner: string): Promise<void> {
  await requireHeld(tx, author, owner, syncLeases.findForShare);
}

/**
 * Like {@link requireLease}, but also blocks all other changes for the owner until the transaction ends.
 */
export async function requireLeaseAlone(tx: Db, author: LeaseAuthor, owner: string): Promise<void> {
  await requireHeld(tx, author, owner, syncLeases.findForUpdate);
}

type LeaseAuthor = Pick<AdminRequest, 'caller' | 'owner' | 'fence'>;

/** The owner in the lease headers, for a change that concerns the owner itself. */
export function ownerOfLease(author: LeaseAuthor): string {
  if (author.owner !== null) return author.owner;
  const message = 'is required: the owner whose lease this run holds';
  throw validationError({ path: ['gatewright-owner'], message });
}

async function requireHeld(
  tx: Db,
  author: LeaseAuthor,
  owner: string,
  find: typeof syncLeases.findForShare,
): Promise<void> {
  const { caller, fence } = author;
  if (!grantsScope(caller.scopes, claimScope)) {
    const message = `User not allowed to access the resource: ${claimScope} is missing`;
    throw new ApiError('forbidden', message, 'managed_by');
  }
  if (author.owner !== owner || fence === null) {
    const message = `a change for owner "${owner}" requires the headers gatewright-owner and \
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
  const lost = `The lease of owner "${owner}" is no longer yours`;
  const isOthers = held !== undefined && held.run_id !== '' && held.principal_id === caller.id;
  return isOthers ? `${lost}: ${heldBy(held)}` : lost;
}

/**
 * `sync on host-1 (process 12) holds it until 2027-01-04T08:00:00.000Z, since 2027-01-04T07:00:00.000Z`.
 */
export function heldBy({ holder, held_since, expires_at }: syncLeases.SyncLeaseRow): string {
  const [until, since] = [expires_at, held_since].map(formatTimestamp);
  return `${holder} holds it until ${until}, since ${since}`;
}
