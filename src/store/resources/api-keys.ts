/** Table functions for api_keys and api_key_hashes. Only the HMAC of a key's value is stored. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { contains, resourceTable } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';

export interface ApiKeyRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  user_id: string | null;
  type: 'organisation-service' | 'organisation-user' | 'workspace-service' | 'workspace-user';
  name: string;
  description: string | null;
  key_mask: string;
  /** `expired` once the job has marked it. An exhausted budget does not change the status. */
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
  /** When the value of the last rotation became valid. */
  rotated_at: number | null;
  /** When the previous value expires or expired; null for a key that was never rotated, and until the new value is delivered. */
  transition_expires_at: number | null;
  last_reset_at: number | null;
  /** Last accepted request, to within an hour; null before the first. */
  last_used_at: number | null;
  created_by: string;
}

/** One value of a key. During a rotation two values are valid. */
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

/** The user who owns a user key; null for a service key, even when it names a user. */
export function personOf({
  type,
  user_id: userId,
}: Pick<StoredApiKey, 'type' | 'user_id'>): string | null {
  return type === 'organisation-user' || type === 'workspace-user' ? userId : null;
}

const table = resourceTable('api_keys', { hasSlug: false });
const hashes = rows('api_key_hashes');

export const { findById, findByIdForUpdate, listAllForOrganisation, listByIds, update } = table;

/** Includes its values, its budget and its counters. */
export const contents = contentsOf('ApiKey', 'api_keys', (at) => [
  ...removalOfBudgets('api_key', 'api_keys', at),
  sql`delete from api_key_hashes where organisation_id = ${at.organisationId}
    and api_key_id in ${heldIds('api_keys', at)}`,
]);

/** A new key with the hash of its first value and the pepper of the hash. */
export type NewApiKey = Insertable<ApiKeyRow> & Pick<ApiKeyHashRow, 'hash' | 'pepper_id'>;

/** Throws errno 1062 when a key of any organisation has this value. */
export async function insert(tx: Db, { hash, pepper_id, ...row }: NewApiKey): Promise<void> {
  await table.insert(tx, row);
  await hashes.insert(tx, {
    hash,
    pepper_id,
    organisation_id: row.organisation_id,
    api_key_id: row.id,
    valid_from: row.created_at,
    valid_until: null,
  });
}

/**
 * The key with a value, in any organisation: the value itself determines the tenant. `hash` is
 * `keyring.hashCredential` of the value.
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

/** Uses are recorded at most this often. */
const useRecordingMs = 3_600_000;

export function isUseNews(
  { last_used_at: last }: Pick<ApiKeyRow, 'last_used_at'>,
  now: number,
): boolean {
  return last === null || last < now - useRecordingMs;
}

/** Records a use at `now`; of concurrent calls only one writes. */
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
      eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', now - useRecordingMs)]),
    )
    .execute();
}

/** When each of these keys was last used. */
export const listLastUsed = table.rows.listBy(['organisation_id', 'id'], {
  columns: ['id', 'last_used_at'],
});

export interface ValueHolder extends Pick<ApiKeyRow, 'id' | 'type'>, Pick<ApiKeyHashRow, 'hash'> {
  /** 1 for the key's newest value, 0 for the previous one, which will expire. */
  readonly is_current: number;
}

/** The key and its type for each valid value among these. */
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

/** Deletes a key with its values. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await hashes.delete(tx, { organisation_id: organisationId, api_key_id: id });
  await table.deleteById(tx, organisationId, id);
}

/** Any key that is pinned to the config. */
export function findByConfig(
  db: Db,
  organisationId: string,
  configId: string,
): Promise<StoredApiKey | undefined> {
  return table.rows.findFirst(db, { organisation_id: organisationId, config_id: configId });
}

/** Any organisation key that is pinned to a config of the workspace. */
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

/** Number of user keys in a workspace. */
export function countUserKeys(
  tx: Db,
  organisationId: string,
  workspaceId: string,
): Promise<number> {
  return table.rows.count(tx, {
    organisation_id: organisationId,
    workspace_id: workspaceId,
    type: 'workspace-user',
  });
}

type UserKeyRef = Pick<StoredApiKey, 'id' | 'workspace_id'>;

/** A user's keys, or those in one workspace. */
export function listOfUser(
  db: Db,
  organisationId: string,
  userId: string,
  workspaceId: string | undefined,
): Promise<UserKeyRef[]> {
  const where = ofUser(organisationId, userId, workspaceId);
  return table.rows.list(db, where, { columns: ['id', 'workspace_id'] });
}

/** As {@link listOfUser}; locks the keys until the transaction ends. */
export function listOfUserForUpdate(
  tx: Db,
  organisationId: string,
  userId: string,
  workspaceId: string | undefined,
): Promise<UserKeyRef[]> {
  return table.rows.list(tx, ofUser(organisationId, userId, workspaceId), {
    columns: ['id', 'workspace_id'],
    orderBy: ['id'],
    lock: 'update',
  });
}

function ofUser(organisationId: string, userId: string, workspaceId: string | undefined) {
  return {
    organisation_id: organisationId,
    user_id: userId,
    type: ['organisation-user', 'workspace-user'],
    ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
  } as const;
}

export interface ApiKeyFilter {
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Only keys of this user. */
  readonly userId?: string | undefined;
  readonly types?: readonly ApiKeyRow['type'][] | undefined;
  /** Part of the name. */
  readonly name?: string | undefined;
  readonly state?: ApiKeyStateFilter | undefined;
}

/** Only keys in this state at `now`. */
interface ApiKeyStateFilter {
  readonly status: 'active' | 'exhausted' | 'expired';
  readonly now: number;
  /** Ids of the keys whose budget is exhausted. */
  readonly exhaustedIds: readonly string[];
}

function isInState({ status, now, exhaustedIds }: ApiKeyStateFilter) {
  const isExpired = sql<boolean>`(status = 'expired' or coalesce(expires_at <= ${now}, false))`;
  if (status === 'expired') return isExpired;
  const isExhausted =
    exhaustedIds.length === 0
      ? sql<boolean>`false`
      : sql<boolean>`id in (${sql.join(exhaustedIds)})`;
  const isOther = status === 'exhausted' ? isExhausted : sql<boolean>`not ${isExhausted}`;
  return sql<boolean>`(not ${isExpired} and ${isOther})`;
}

export function list(
  db: Db,
  organisationId: string,
  filter: ApiKeyFilter,
  page: Page,
): Promise<SlicedPage<StoredApiKey>> {
  const { name, state } = filter;
  const query = table.rows
    .matching(db, {
      organisation_id: organisationId,
      workspace_id: filter.workspaceId,
      user_id: filter.userId,
      id: filter.ids,
      type: filter.types,
    })
    .$if(name !== undefined, (all) => all.where(contains(sql.ref('name'), name!)))
    .$if(state !== undefined, (all) => all.where(isInState(state!)));
  return listPageInSlices({ db, stamp: stampOf('api_keys', organisationId) }, query, page, [
    'metadata',
    'scopes',
    'usage_limits',
    'rate_limits',
    'alert_emails',
    'description',
  ]);
}
