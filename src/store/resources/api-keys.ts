/** Knows the api_keys table. Only the HMAC of a key's value ever comes here. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';
import { countRows, listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';

export interface ApiKeyRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  user_id: string | null;
  type: 'organisation-service' | 'organisation-user' | 'workspace-service' | 'workspace-user';
  name: string;
  description: string | null;
  key_mask: string;
  /** Expired once the job has seen it; whether its budget is exhausted is asked when it matters. */
  status: 'active' | 'expired';
  creation_mode: 'ui' | 'api' | 'auto';
  scopes: string;
  rate_limits: string | null;
  usage_limits: string | null;
  metadata: string | null;
  config_id: string | null;
  allow_config_override: number | null;
  alert_emails: string | null;
  expires_at: number | null;
  rotation_policy: string | null;
  /** Since when the value is good that the last rotation made. */
  rotated_at: number | null;
  /** When the value before ends, or ended; null for never rotated, and while its successor is on its way. */
  transition_expires_at: number | null;
  last_reset_at: number | null;
  /** Last request that the key was good for, an hour more or less; null before the first. */
  last_used_at: number | null;
  created_by: string;
}

/** One value that a key is known by; two of them are good at once while a key is rotated. */
export interface ApiKeyHashRow {
  hash: Buffer;
  pepper_id: string;
  organisation_id: string;
  api_key_id: string;
  valid_from: number;
  valid_until: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    api_keys: ApiKeyRow;
    api_key_hashes: ApiKeyHashRow;
  }
}

/** A key as stored. */
export type StoredApiKey = Selectable<ApiKeyRow>;

/** The user whose own it is; null for a service key, which may name somebody, too. */
export function personOf({
  type,
  user_id: userId,
}: Pick<StoredApiKey, 'type' | 'user_id'>): string | null {
  return type === 'organisation-user' || type === 'workspace-user' ? userId : null;
}

const table = resourceTable('api_keys');

export const { findById, findByIdForUpdate, listAllForOrganisation, update } = table;

/** With its values, its budget and what was counted for it. */
export const contents = contentsOf('ApiKey', 'api_keys', (at) => [
  ...removalOfBudgets('api_key', 'api_keys', at),
  sql`delete from api_key_hashes where organisation_id = ${at.organisationId}
    and api_key_id in ${heldIds('api_keys', at)}`,
]);

/** A new key with the hash of its first value and the pepper that was hashed with. */
export type NewApiKey = Insertable<ApiKeyRow> & Pick<ApiKeyHashRow, 'hash' | 'pepper_id'>;

/** Throws errno 1062 when a key of this value exists, in whatever organisation. */
export async function insert(tx: Db, { hash, pepper_id, ...row }: NewApiKey): Promise<void> {
  await table.insert(tx, row);
  await insertHash(tx, {
    hash,
    pepper_id,
    organisation_id: row.organisation_id,
    api_key_id: row.id,
    valid_from: row.created_at,
    valid_until: null,
  });
}

export const insertHash = insertion((tx, row: ApiKeyHashRow & Record<string, unknown>) =>
  tx.insertInto('api_key_hashes').values(row),
);

/**
 * The key a caller holds, in whatever organisation: the one look-up without a tenant, because the
 * key itself says which tenant the caller is of. `hash` is `keyring.hashCredential` of its value.
 */
export function findByHash(db: Db, hash: Buffer, now: number): Promise<StoredApiKey | undefined> {
  return byHash.first(db, { hash, now });
}

const byHash = statement((db, { hash, now }: { hash: Buffer; now: number }) =>
  db
    .selectFrom('api_key_hashes as known')
    .innerJoin('api_keys', (join) =>
      join
        .onRef('api_keys.organisation_id', '=', 'known.organisation_id')
        .onRef('api_keys.id', '=', 'known.api_key_id'),
    )
    .selectAll('api_keys')
    .where('known.hash', '=', hash)
    .where((eb) => eb.or([eb('known.valid_until', 'is', null), eb('known.valid_until', '>', now)])),
);

/** Less often than this a use is not written down, ms. */
const usesTellMs = 3_600_000;

export function isUseNews(
  { last_used_at: last }: Pick<ApiKeyRow, 'last_used_at'>,
  now: number,
): boolean {
  return last === null || last < now - usesTellMs;
}

/** Writes down that a key was used now; of any number at once one is. */
export async function updateLastUsed(
  db: Db,
  { organisation_id, id }: Pick<StoredApiKey, 'organisation_id' | 'id'>,
  now: number,
): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ last_used_at: now })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .where((eb) =>
      eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', now - usesTellMs)]),
    )
    .execute();
}

/** When each of these keys was used last. */
export function listLastUsed(
  db: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<Pick<StoredApiKey, 'id' | 'last_used_at'>[]> {
  return db
    .selectFrom('api_keys')
    .select(['id', 'last_used_at'])
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

export interface ValueHolder extends Pick<ApiKeyRow, 'id' | 'type'>, Pick<ApiKeyHashRow, 'hash'> {
  /** 1 for the value that the key was given last, 0 for the one before, which will end. */
  readonly is_current: number;
}

/** Which key each of these values is of, and what kind of key; values that are over are nobody's. */
export function listHolders(
  db: Db,
  organisationId: string,
  hashes: readonly Buffer[],
  now: number,
): Promise<ValueHolder[]> {
  return db
    .selectFrom('api_key_hashes as known')
    .innerJoin('api_keys', (join) =>
      join
        .onRef('api_keys.organisation_id', '=', 'known.organisation_id')
        .onRef('api_keys.id', '=', 'known.api_key_id'),
    )
    .select(['api_keys.id', 'api_keys.type', 'known.hash'])
    .select(
      sql<number>`(api_keys.rotated_at IS NULL OR known.valid_from >= api_keys.rotated_at)`.as(
        'is_current',
      ),
    )
    .where('known.organisation_id', '=', organisationId)
    .where('known.hash', 'in', hashes)
    .where((eb) => eb.or([eb('known.valid_until', 'is', null), eb('known.valid_until', '>', now)]))
    .execute();
}

/** Takes its values with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('api_key_hashes')
    .where('organisation_id', '=', organisationId)
    .where('api_key_id', '=', id)
    .execute();
  await table.deleteById(tx, organisationId, id);
}

/** A key pinned to the config, if there is one. */
export function findByConfig(
  db: Db,
  organisationId: string,
  configId: string,
): Promise<StoredApiKey | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('config_id', '=', configId)
    .limit(1)
    .executeTakeFirst();
}

/** A key of the organisation that is pinned to a config of the workspace, if there is one. */
export function findPinnedToWorkspace(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<StoredApiKey | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', 'is', null)
    .where('config_id', 'in', (eb) =>
      eb
        .selectFrom('configs')
        .select('id')
        .where('organisation_id', '=', organisationId)
        .where('workspace_id', '=', workspaceId),
    )
    .limit(1)
    .executeTakeFirst();
}

/** How many keys of people a workspace has. */
export function countUserKeys(
  tx: Db,
  organisationId: string,
  workspaceId: string,
): Promise<number> {
  return countRows(
    tx
      .selectFrom('api_keys')
      .where('organisation_id', '=', organisationId)
      .where('workspace_id', '=', workspaceId)
      .where('type', '=', 'workspace-user'),
  );
}

type KeysOfUser = Promise<Pick<StoredApiKey, 'id' | 'workspace_id'>[]>;

/** A person's keys, or those in one workspace. */
export function listOfUser(
  db: Db,
  organisationId: string,
  userId: string,
  workspaceId: string | undefined,
): KeysOfUser {
  return ofUser(db, organisationId, userId, workspaceId).execute();
}

/** As {@link listOfUser}; held until the transaction ends. */
export function listOfUserForUpdate(
  tx: Db,
  organisationId: string,
  userId: string,
  workspaceId: string | undefined,
): KeysOfUser {
  return ofUser(tx, organisationId, userId, workspaceId).orderBy('id').forUpdate().execute();
}

function ofUser(db: Db, organisationId: string, userId: string, workspaceId: string | undefined) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'workspace_id'])
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .where('type', 'in', ['organisation-user', 'workspace-user'])
    .$if(workspaceId !== undefined, (keys) => keys.where('workspace_id', '=', workspaceId!));
}

export interface ApiKeyFilter {
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Those of one person. */
  readonly userId?: string | undefined;
  readonly types?: readonly ApiKeyRow['type'][] | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: ApiKeyFilter,
  page: Page,
): Promise<SlicedPage<StoredApiKey>> {
  let query = db.selectFrom('api_keys').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids);
  if (filter.types !== undefined) query = query.where('type', 'in', filter.types);
  return listPageInSlices({ db, stamp: stampOf('api_keys', organisationId) }, query, page, [
    'metadata',
    'scopes',
    'usage_limits',
    'rate_limits',
    'alert_emails',
    'description',
  ]);
}
