/** Table functions for sign_in_links: one-time links that open a session of a user. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { moreThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface SignInLinkRow {
  organisation_id: string;
  id: string;
  user_id: string;
  secret_hmac: Buffer;
  expires_at: number;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    sign_in_links: SignInLinkRow;
  }
}

export type StoredSignInLink = Selectable<SignInLinkRow>;

const table = rows('sign_in_links');

export const { insert } = table;
export const find = table.findBy('organisation_id', 'id');
export const deleteByUser = table.deleteBy('organisation_id', 'user_id');

/** Deletes a link that has not expired; false when another request has used it. */
export async function use(
  tx: Db,
  { organisation_id, id, secret_hmac }: StoredSignInLink,
  now: number,
): Promise<boolean> {
  const where = { organisation_id, id, secret_hmac, expires_at: moreThan(now) };
  return (await table.delete(tx, where)) === 1;
}
