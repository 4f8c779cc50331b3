/** Table functions for user_sessions: signed-in people, until they sign out or the session expires. */
import type { Selectable } from 'kysely';
import type { OrganisationRole } from '../../model/people/person.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { lessThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface UserSessionRow {
  organisation_id: string;
  id: string;
  user_id: string;
  token_hmac: Buffer;
  /** Hash of issuer and subject, as in user_identities; null when a link opened the session. */
  subject_hash: Buffer | null;
  /** Hash of the identity provider's id of the session; null when it sent none. */
  provider_session_hash: Buffer | null;
  /** Milliseconds since the epoch, written at most once a minute. */
  last_used_at: number;
  expires_at: number;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    user_sessions: UserSessionRow;
  }
}

export type StoredSession = Selectable<UserSessionRow>;

/** A session with its user. */
export type SessionWithUser = StoredSession & {
  readonly email: string;
  readonly role: OrganisationRole;
  readonly status: 'active' | 'inactive';
};

const table = rows('user_sessions');

export const { insert } = table;

const byId = statement((db, { organisationId, id }: { organisationId: string; id: string }) =>
  db
    .selectFrom('user_sessions as s')
    .innerJoin('users as u', (join) =>
      join.onRef('u.organisation_id', '=', 's.organisation_id').onRef('u.id', '=', 's.user_id'),
    )
    .selectAll('s')
    .select(['u.email', 'u.role', 'u.status'])
    .where('s.organisation_id', '=', organisationId)
    .where('s.id', '=', id),
);

export function findWithUser(
  db: Db,
  organisationId: string,
  id: string,
): Promise<SessionWithUser | undefined> {
  return byId.first(db, { organisationId, id });
}

/** Sessions of a user, newest first. */
export const listOfUser = table.listBy(['organisation_id', 'user_id'], { orderBy: ['id desc'] });

/** Does nothing when a later use is recorded already. */
export async function updateLastUsed(
  db: Db,
  { organisation_id, id }: Pick<StoredSession, 'organisation_id' | 'id'>,
  now: number,
): Promise<void> {
  const where = { organisation_id, id, last_used_at: lessThan(now) };
  await table.update(db, where, { last_used_at: now });
}

/** Selects sessions; an absent field matches every session. */
export interface SessionSelection {
  readonly userId?: string;
  readonly id?: string;
  readonly subjectHash?: Buffer;
  readonly providerSessionHash?: Buffer;
}

/** Ends the selected sessions and returns their number. */
export async function deleteMany(
  tx: Db,
  organisationId: string,
  { userId, id, subjectHash, providerSessionHash }: SessionSelection,
): Promise<number> {
  return table.delete(tx, {
    organisation_id: organisationId,
    ...(userId === undefined ? {} : { user_id: userId }),
    ...(id === undefined ? {} : { id }),
    ...(subjectHash === undefined ? {} : { subject_hash: subjectHash }),
    ...(providerSessionHash === undefined ? {} : { provider_session_hash: providerSessionHash }),
  });
}

/** Organisations in which an account of the identity provider, or one session of it, is signed in. */
export async function listOrganisationsOf(
  db: Db,
  {
    subjectHash,
    providerSessionHash,
  }: Pick<SessionSelection, 'subjectHash' | 'providerSessionHash'>,
): Promise<string[]> {
  const found = await db
    .selectFrom('user_sessions')
    .select('organisation_id')
    .distinct()
    .$if(subjectHash !== undefined, (all) => all.where('subject_hash', '=', subjectHash!))
    .$if(providerSessionHash !== undefined, (all) =>
      all.where('provider_session_hash', '=', providerSessionHash!),
    )
    .execute();
  return found.map((row) => row.organisation_id);
}
