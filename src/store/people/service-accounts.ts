/** Table functions for service_accounts: clients that may request access tokens. Secrets are stored as HMACs. */
import { type Generated, type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface ServiceAccountRow {
  id: string;
  tsg_id: string;
  name: string;
  client_id: string;
  secret_hmac: Buffer;
  pepper_id: string;
  created_at: number;
  /** The secret before the last rotation; null for none. */
  previous_secret_hmac: Generated<Buffer | null>;
  /** When the previous secret ends; null until the new one is delivered. */
  previous_valid_until: Generated<number | null>;
  /** Null for an active account. */
  disabled_at: Generated<number | null>;
}

declare module '../connection/db.ts' {
  interface Tables {
    service_accounts: ServiceAccountRow;
  }
}

/** An account as stored. */
export type StoredServiceAccount = Selectable<ServiceAccountRow>;

const table = rows('service_accounts');

/** Throws errno 1062 when the client id exists, or the name exists in the TSG. */
export const { insert } = table;

/** Not restricted to a tenant, because the client id determines the tenant. */
export const findByClientId = table.findBy('client_id');

/** Not restricted to a tenant: a service account may act in TSGs other than its own. */
export const findById = table.findBy('id');

/** Locks the account of a TSG until the transaction ends. */
export const findForUpdate = table.findByForUpdate('tsg_id', 'id');

export async function update(
  tx: Db,
  { tsg_id, id }: Pick<StoredServiceAccount, 'tsg_id' | 'id'>,
  columns: Partial<
    Pick<
      StoredServiceAccount,
      'secret_hmac' | 'pepper_id' | 'previous_secret_hmac' | 'previous_valid_until' | 'disabled_at'
    >
  >,
): Promise<void> {
  await table.update(tx, { tsg_id, id }, columns);
}

export const deleteById = table.deleteBy('tsg_id', 'id');

export const existsIn = (db: Db, tsgId: string): Promise<boolean> =>
  table.exists(db, { tsg_id: tsgId });

/** The previous secret while it is valid; null otherwise. */
export function previousSecret(
  { previous_secret_hmac: hash, previous_valid_until: end }: StoredServiceAccount,
  now: number,
): Buffer | null {
  return end === null || end > now ? hash : null;
}

export interface SecretHolder {
  readonly id: string;
  readonly hash: Buffer;
  /** 1 for the newest secret, 0 for the previous one, which will expire. */
  readonly is_current: number;
}

/** The account of the TSG for each valid secret among these. */
export async function listHolders(
  db: Db,
  tsgId: string,
  hashes: readonly Buffer[],
  now: number,
): Promise<SecretHolder[]> {
  const current = await table.list(db, { tsg_id: tsgId, secret_hmac: hashes });
  const previous = await db
    .selectFrom('service_accounts')
    .selectAll()
    .where('tsg_id', '=', tsgId)
    .where('previous_secret_hmac', 'in', hashes)
    .where(sql<boolean>`(previous_valid_until is null or previous_valid_until > ${now})`)
    .execute();
  return [
    ...current.map(({ id, secret_hmac: hash }) => ({ id, hash, is_current: 1 })),
    ...previous.map(({ id, previous_secret_hmac: hash }) => ({ id, hash: hash!, is_current: 0 })),
  ];
}
