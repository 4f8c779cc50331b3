/** Knows the user_sessions table: people who are signed in, until they leave or time runs out. */
import type { Selectable } from 'kysely';
import type { OrganisationRole } from '../../model/people/person.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';

interface UserSessionRow {
  organisation_id: string;
  id: string;
  user_id: string;
  token_hmac: Buffer;
  /** Of issuer and subject, as in user_identities. */
  subject_hash: Buffer;
  /** Of what the identity provider calls its own session; null where it said nothing. */
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

/** A session with whose it is. */
export type SessionWithUser = StoredSession & {
  readonly email: string;
  readonly role: OrganisationRole;
  readonly status: 'active' | 'inactive';
};

export async function insert(tx: Db, row: UserSessionRow): Promise<void> {
  await tx.insertInto('user_sessions').values(row).execute();
}

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

/** Those of a user, the newest first. */
export function listOfUser(
  db: Db,
  organisationId: string,
  userId: string,
): Promise<StoredSession[]> {
  return db
    .selectFrom('user_sessions')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .execute();
}

/** Unless it was used later than `now` already. */
export async function updateLastUsed(
  db: Db,
  { organisation_id, id }: Pick<StoredSession, 'organisation_id' | 'id'>,
  now: number,
): Promise<void> {
  await db
    .updateTable('user_sessions')
    .set({ last_used_at: now })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .where('last_used_at', '<', now)
    .execute();
}

export interface EndedSessions {
  readonly userId?: string;
  readonly id?: string;
  readonly subjectHash?: Buffer;
  readonly providerSessionHash?: Buffer;
}

/** Ends all that are as `of` says; yields how many. */
export async function deleteMany(
  tx: Db,
  organisationId: string,
  { userId, id, subjectHash, providerSessionHash }: EndedSessions,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('user_sessions')
    .where('organisation_id', '=', organisationId)
    .$if(userId !== undefined, (rows) => rows.where('user_id', '=', userId!))
    .$if(id !== undefined, (rows) => rows.where('id', '=', id!))
    .$if(subjectHash !== undefined, (rows) => rows.where('subject_hash', '=', subjectHash!))
    .$if(providerSessionHash !== undefined, (rows) =>
      rows.where('provider_session_hash', '=', providerSessionHash!),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Where an account of the identity provider, or one session of it, is signed in; a provider knows no tenants. */
export async function listOrganisationsOf(
  db: Db,
  { subjectHash, providerSessionHash }: Pick<EndedSessions, 'subjectHash' | 'providerSessionHash'>,
): Promise<string[]> {
  const rows = await db
    .selectFrom('user_sessions')
    .select('organisation_id')
    .distinct()
    .$if(subjectHash !== undefined, (all) => all.where('subject_hash', '=', subjectHash!))
    .$if(providerSessionHash !== undefined, (all) =>
      all.where('provider_session_hash', '=', providerSessionHash!),
    )
    .execute();
  return rows.map((row) => row.organisation_id);
}
