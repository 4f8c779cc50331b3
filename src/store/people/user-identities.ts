/** Knows the user_identities table: which account of the identity provider is which user. */
import type { Db } from '../connection/db.ts';

interface UserIdentityRow {
  organisation_id: string;
  user_id: string;
  /** Of issuer and subject. */
  subject_hash: Buffer;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    user_identities: UserIdentityRow;
  }
}

/** Throws errno 1062 when the user has one, or the account is another user. */
export async function insert(tx: Db, row: UserIdentityRow): Promise<void> {
  await tx.insertInto('user_identities').values(row).execute();
}

export async function findUserId(
  db: Db,
  organisationId: string,
  subjectHash: Buffer,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('user_identities')
    .select('user_id')
    .where('organisation_id', '=', organisationId)
    .where('subject_hash', '=', subjectHash)
    .executeTakeFirst();
  return row?.user_id;
}

/** True when the user had one. */
export async function deleteOfUser(
  tx: Db,
  organisationId: string,
  userId: string,
): Promise<boolean> {
  const result = await tx
    .deleteFrom('user_identities')
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}
