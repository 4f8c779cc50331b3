/** Knows the configs table and config_versions, which keeps what each config once said. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { resourceTable } from './resource-table.ts';
import type { Versioned } from './versioned.ts';

interface ConfigRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  config: string;
  is_default: number;
  status: 'active' | 'archived';
  version_id: string;
  owner_id: string;
  updated_by: string;
}

export interface ConfigVersionRow {
  id: string;
  config_id: string;
  organisation_id: string;
  name: string;
  config: string;
  created_by: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    configs: ConfigRow;
    config_versions: ConfigVersionRow;
  }
}

/** A config as stored. */
export type StoredConfig = Selectable<ConfigRow>;
export type StoredConfigVersion = Selectable<ConfigVersionRow>;

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  list,
  listAllForOrganisation,
  update,
} = resourceTable('configs');

export async function insertVersion(tx: Db, row: Insertable<ConfigVersionRow>): Promise<void> {
  await tx.insertInto('config_versions').values(row).execute();
}

export function listVersions(
  db: Db,
  organisationId: string,
  configId: string,
  page: Page,
): Promise<{ rows: StoredConfigVersion[]; total: number }> {
  const query = db
    .selectFrom('config_versions')
    .where('organisation_id', '=', organisationId)
    .where('config_id', '=', configId);
  return listPage(query, page);
}

/**
 * Configs whose text holds any of the given strings as a JSON string, in any case; the caller reads
 * them to be sure.
 */
export function listHolding(
  db: Db,
  organisationId: string,
  texts: readonly string[],
): Promise<Pick<StoredConfig, 'id' | 'slug' | 'config'>[]> {
  return db
    .selectFrom('configs')
    .select(['id', 'slug', 'config'])
    .where('organisation_id', '=', organisationId)
    .where((eb) =>
      eb.or(
        texts.map(
          (text) =>
            sql<boolean>`locate(lower(cast(${JSON.stringify(text)} as char)), lower(config)) > 0`,
        ),
      ),
    )
    .execute();
}

/** Leaves `config` as the only default of its workspace, or of the organisation. */
export async function updateOtherDefaults(
  tx: Db,
  config: Pick<StoredConfig, 'id' | 'organisation_id' | 'workspace_id'>,
): Promise<void> {
  await tx
    .updateTable('configs')
    .set({ is_default: 0, version: sql`version + 1` })
    .where('organisation_id', '=', config.organisation_id)
    .where(sql<boolean>`workspace_id <=> ${config.workspace_id}`)
    .where('is_default', '=', 1)
    .where('id', '<>', config.id)
    .execute();
}

/** Takes its versions with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('config_versions')
    .where('organisation_id', '=', organisationId)
    .where('config_id', '=', id)
    .execute();
  await tx
    .deleteFrom('configs')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}
