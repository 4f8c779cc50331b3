/** Knows the api_keys table. Only the HMAC of a key's value ever comes here. */
import type { Selectable } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { resourceTable } from './resource-table.ts';
import type { Versioned } from './versioned.ts';

export interface ApiKeyRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  user_id: string | null;
  type: 'organisation-service' | 'organisation-user' | 'workspace-service' | 'workspace-user';
  name: string;
  description: string | null;
  key_hmac: Buffer;
  key_mask: string;
  status: 'active' | 'exhausted' | 'expired';
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
  last_reset_at: number | null;
  created_by: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    api_keys: ApiKeyRow;
  }
}

/** A key as stored. */
export type StoredApiKey = Selectable<ApiKeyRow>;

export const { insert, findById, findByIdForUpdate, listAllForOrganisation, update, deleteById } =
  resourceTable('api_keys');

/**
 * The key a caller holds, in whatever organisation: the one look-up without a tenant, because the
 * key itself says which tenant the caller is of. `hash` is `keyring.hashCredential` of its value.
 */
export function findByHash(db: Db, hash: Buffer): Promise<StoredApiKey | undefined> {
  return db.selectFrom('api_keys').selectAll().where('key_hmac', '=', hash).executeTakeFirst();
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

export interface ApiKeyFilter {
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly ApiKeyRow['type'][] | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: ApiKeyFilter,
  page: Page,
): Promise<{ rows: StoredApiKey[]; total: number }> {
  let query = db.selectFrom('api_keys').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids);
  if (filter.types !== undefined) query = query.where('type', 'in', filter.types);
  return listPage(query, page);
}
