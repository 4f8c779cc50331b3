/** Knows the user_invites table: who was asked into an organisation; of one address one invite is open at most. */
import type { Selectable } from 'kysely';
import type { InviteStatus } from '../../model/people/invite.ts';
import type { AssignedRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { stampOf } from '../rows/people-marks.ts';
import { peopleTable } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';

interface UserInviteRow extends Versioned {
  id: string;
  organisation_id: string;
  email: string;
  email_key: string;
  /** Of the address while the invite is open; null once it is not, or another may be made. */
  pending_key: string | null;
  role: AssignedRole;
  /** One that has expired is pending still: see model/invite.ts. */
  status: Exclude<InviteStatus, 'expired'>;
  workspaces: string | null;
  scopes: string | null;
  invited_by: string;
  expires_at: number;
  accepted_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    user_invites: UserInviteRow;
  }
}

/** An invite as stored. */
export type StoredInvite = Selectable<UserInviteRow>;

/** What must be unique is the address of an open invite. */
export const { insert, update } = peopleTable('user_invites');

/** Lets another invite of the address be made once the one before has expired. */
export async function releaseExpired(
  tx: Db,
  organisationId: string,
  key: string,
  now: number,
): Promise<void> {
  await tx
    .updateTable('user_invites')
    .set({ pending_key: null })
    .where('organisation_id', '=', organisationId)
    .where('pending_key', '=', key)
    .where('expires_at', '<=', now)
    .execute();
}

export function findById(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredInvite | undefined> {
  return one(db, organisationId, id).executeTakeFirst();
}

export function findByIdForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredInvite | undefined> {
  return one(tx, organisationId, id).forUpdate().executeTakeFirst();
}

function one(db: Db, organisationId: string, id: string) {
  return db
    .selectFrom('user_invites')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id);
}

/** The invite of an address that is open, held until the transaction ends. */
export function findOpenForUpdate(
  tx: Db,
  organisationId: string,
  key: string,
  now: number,
): Promise<StoredInvite | undefined> {
  return tx
    .selectFrom('user_invites')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('pending_key', '=', key)
    .where('expires_at', '>', now)
    .forUpdate()
    .executeTakeFirst();
}

export interface InviteFilter {
  readonly status?: InviteStatus | undefined;
  readonly role?: AssignedRole | undefined;
  /** The whole address, as its key. */
  readonly emailKey?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  { status, role, emailKey }: InviteFilter,
  page: Page,
  now: number,
): Promise<{ rows: StoredInvite[]; total: number }> {
  const stored = status === 'expired' ? 'pending' : status;
  const query = db
    .selectFrom('user_invites')
    .where('organisation_id', '=', organisationId)
    .$if(stored !== undefined, (rows) => rows.where('status', '=', stored!))
    .$if(status === 'expired', (rows) => rows.where('expires_at', '<=', now))
    .$if(status === 'pending', (rows) => rows.where('expires_at', '>', now))
    .$if(role !== undefined, (rows) => rows.where('role', '=', role!))
    .$if(emailKey !== undefined, (rows) => rows.where('email_key', '=', emailKey!));
  // What is open changes as time goes by, without a mark.
  const isTimed = stored === 'pending';
  const stamp = isTimed ? null : stampOf('user_invites', organisationId);
  return listPage({ db, stamp }, query, page);
}
