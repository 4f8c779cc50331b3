/** Replaces the value of an API key. At most two values are valid at once, each until its end. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import type { ApiKeyHashRow, StoredApiKey } from './api-keys.ts';

/** A value as stored. */
export type StoredValue = Pick<
  Selectable<ApiKeyHashRow>,
  'hash' | 'pepper_id' | 'valid_from' | 'valid_until'
>;

type KeyReference = Pick<StoredApiKey, 'organisation_id' | 'id'>;

const table = rows('api_key_hashes');

const ofKey = ({ organisation_id, id }: KeyReference) => ({ organisation_id, api_key_id: id });

/** Values of a key, newest first, including expired ones; locks them until the transaction ends. */
export function listForUpdate(tx: Db, key: KeyReference): Promise<StoredValue[]> {
  return table.list(tx, ofKey(key), {
    columns: ['hash', 'pepper_id', 'valid_from', 'valid_until'],
    orderBy: ['valid_from desc'],
    lock: 'update',
  });
}

/** Deletes expired values. */
export async function deleteEnded(tx: Db, key: KeyReference, now: number): Promise<void> {
  await table.delete(tx, { ...ofKey(key), valid_until: atMost(now) });
}

/** Deletes a value that was never delivered. */
export async function deleteOne(tx: Db, key: KeyReference, hash: Buffer): Promise<void> {
  await table.delete(tx, { hash, ...ofKey(key) });
}

/** Throws errno 1062 when a key of any organisation has this value. */
export async function insert(
  tx: Db,
  key: KeyReference,
  value: Omit<StoredValue, 'valid_until'>,
): Promise<void> {
  await table.insert(tx, { ...value, ...ofKey(key), valid_until: null });
}

/** Sets when a value expires; null for never. */
export async function updateEnd(
  tx: Db,
  key: KeyReference,
  hash: Buffer,
  validUntil: number | null,
): Promise<void> {
  await table.update(tx, { hash, ...ofKey(key) }, { valid_until: validUntil });
}
