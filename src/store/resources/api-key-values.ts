/** Knows how the value of a key is replaced: two are good at once at most, and which ends when. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type ApiKeyHashRow, insertHash } from './api-keys.ts';

/** A value as it is stored. */
export type StoredValue = Pick<
  Selectable<ApiKeyHashRow>,
  'hash' | 'pepper_id' | 'valid_from' | 'valid_until'
>;

/** Which key's. */
interface KeyPlace {
  readonly organisation_id: string;
  readonly id: string;
}

/** The values of a key, the newest first, held until the transaction ends; those that are over too. */
export function listForUpdate(tx: Db, key: KeyPlace): Promise<StoredValue[]> {
  return tx
    .selectFrom('api_key_hashes')
    .select(['hash', 'pepper_id', 'valid_from', 'valid_until'])
    .where('organisation_id', '=', key.organisation_id)
    .where('api_key_id', '=', key.id)
    .orderBy('valid_from', 'desc')
    .forUpdate()
    .execute();
}

/** Takes away those that are over. */
export async function deleteEnded(tx: Db, key: KeyPlace, now: number): Promise<void> {
  await tx
    .deleteFrom('api_key_hashes')
    .where('organisation_id', '=', key.organisation_id)
    .where('api_key_id', '=', key.id)
    .where('valid_until', '<=', now)
    .execute();
}

/** Takes away a value that nobody has received. */
export async function deleteOne(tx: Db, key: KeyPlace, hash: Buffer): Promise<void> {
  await tx
    .deleteFrom('api_key_hashes')
    .where('hash', '=', hash)
    .where('organisation_id', '=', key.organisation_id)
    .where('api_key_id', '=', key.id)
    .execute();
}

/** Throws errno 1062 when a key of this value exists, in whatever organisation. */
export async function insert(
  tx: Db,
  key: KeyPlace,
  value: Omit<StoredValue, 'valid_until'>,
): Promise<void> {
  const place = { organisation_id: key.organisation_id, api_key_id: key.id };
  await insertHash(tx, { ...value, ...place, valid_until: null });
}

/** Says when a value ends; null for not yet. */
export async function updateEnd(
  tx: Db,
  key: KeyPlace,
  hash: Buffer,
  validUntil: number | null,
): Promise<void> {
  await tx
    .updateTable('api_key_hashes')
    .set({ valid_until: validUntil })
    .where('hash', '=', hash)
    .where('organisation_id', '=', key.organisation_id)
    .where('api_key_id', '=', key.id)
    .execute();
}
