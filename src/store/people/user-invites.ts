/** Table functions for user_invites: invitations to an organisation. An address has at most one open invite. */
import type { Selectable } from 'kysely';
import type { InviteStatus } from '../../model/people/invite.ts';
import type { AssignedRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { atMost, moreThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import type { VersionColumns } from '../rows/version-columns.ts';

interface UserInviteRow extends VersionColumns {
  id: string;
  organisation_id: string;
  email: string;
  email_key: string;
  /** The address's key while the invite is open, else null; it is unique. */
  pending_key: string | null;
  role: AssignedRole;
  /** An expired invite is still `pending` here: see model/people/invite.ts. */
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

const table = rows('user_invites', { marks: peopleMarks, isVersioned: true });

/** Throws errno 1062 when the address has an open invite. */
export const { insert } = table;
export const { update } = table.keyedBy('organisation_id', 'id');
export const findById = table.findBy('organisation_id', 'id');
export const findByIdForUpdate = table.findByForUpdate('organisation_id', 'id');

/** Allows another invite of the address once its open invite has expired. */
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

/** The open invite of an address, locked until the transaction ends. */
export function findOpenForUpdate(
  tx: Db,
  organisationId: string,
  key: string,
  now: number,
): Promise<StoredInvite | undefined> {
  return table.findForUpdate(tx, {
    organisation_id: organisationId,
    pending_key: key,
    expires_at: moreThan(now),
  });
}

export interface InviteFilter {
  readonly status?: InviteStatus | undefined;
  readonly role?: AssignedRole | undefined;
  /** Key of the whole address. */
  readonly emailKey?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  { status, role, emailKey }: InviteFilter,
  page: Page,
  now: number,
): Promise<{ rows: StoredInvite[]; total: number }> {
  const storedStatus = status === 'expired' ? 'pending' : status;
  const query = table.matching(db, {
    organisation_id: organisationId,
    status: storedStatus,
    expires_at: expiryOf(status, now),
    role,
    email_key: emailKey,
  });
  // Open invites expire without replacing a mark, so that such a list has no stamp.
  const stamp =
    storedStatus === 'pending' ? null : peopleMarks.stampOf('user_invites', organisationId);
  return listPage({ db, stamp }, query, page);
}

function expiryOf(status: InviteStatus | undefined, now: number) {
  if (status === 'expired') return atMost(now);
  return status === 'pending' ? moreThan(now) : undefined;
}
