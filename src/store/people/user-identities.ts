/** Table functions for user_identities: the user of each account at the identity provider. */
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface UserIdentityRow {
  organisation_id: string;
  user_id: string;
  /** Hash of issuer and subject. */
  subject_hash: Buffer;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    user_identities: UserIdentityRow;
  }
}

const table = rows('user_identities');

/** Throws errno 1062 when the user already has an identity, or the account belongs to another user. */
export const { insert } = table;

export async function findUserId(
  db: Db,
  organisationId: string,
  subjectHash: Buffer,
): Promise<string | undefined> {
  const where = { organisation_id: organisationId, subject_hash: subjectHash };
  return (await table.find(db, where))?.user_id;
}

/** Returns whether the user had an identity. */
export async function deleteOfUser(
  tx: Db,
  organisationId: string,
  userId: string,
): Promise<boolean> {
  return (await table.delete(tx, { organisation_id: organisationId, user_id: userId })) > 0;
}
