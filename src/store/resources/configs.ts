/** Table functions for configs and config_versions. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { removeDefaultFlag } from '../rows/default-flag.ts';
import { countRows, slicesOfBytes } from '../rows/paging.ts';
import { not } from '../rows/predicate.ts';
import { contains, resourceTable } from '../rows/resource-table.ts';
import { type VersionRow, versionTable } from '../rows/resource-versions.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';

interface ConfigRow extends VersionColumns {
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

interface ConfigVersionRow extends VersionRow {
  config: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    configs: ConfigRow;
    config_versions: ConfigVersionRow;
  }
}

/** A config as stored. */
export type StoredConfig = Selectable<ConfigRow>;
export type StoredConfigVersion = Omit<Selectable<ConfigVersionRow>, 'id' | 'resource_id'> & {
  readonly id: string;
};

const table = resourceTable('configs');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  list,
  listAllForOrganisation,
  update,
} = table;

/** Includes its versions. */
export const contents = contentsOf('Config', 'configs', (at) => [
  sql`delete from config_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('configs', at)}`,
]);

const versions = versionTable('config_versions');
const versionRows = rows('config_versions');

export const { insertVersion } = versions;

/**
 * Newest first. A page can be a hundred megabytes, so that `rows` reads contents in batches while it is
 * iterated; versions deleted in the meantime are omitted.
 */
export async function listVersions(
  db: Db,
  organisationId: string,
  configId: string,
  page: Page,
): Promise<{ rows: AsyncIterable<StoredConfigVersion>; total: number }> {
  const query = versionRows.matching(db, {
    organisation_id: organisationId,
    resource_id: idToBytes(configId),
  });
  const sized = await query
    .select(['number', sql<number>`octet_length(config)`.as('bytes')])
    .orderBy('number', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { rows: inSlices(query.selectAll(), sized), total: await countRows(query) };
}

type VersionQuery = SelectQueryBuilder<Tables, 'config_versions', Selectable<ConfigVersionRow>>;

async function* inSlices(
  query: VersionQuery,
  sized: readonly { readonly number: number; readonly bytes: number }[],
): AsyncGenerator<StoredConfigVersion> {
  for (const slice of slicesOfBytes(sized)) {
    const numbers = slice.map(({ number }) => number);
    const found = await query.where('number', 'in', numbers).orderBy('number', 'desc').execute();
    for (const { resource_id: _, ...row } of found) yield { ...row, id: idFromBytes(row.id) };
  }
}

/**
 * Configs whose text contains any of the given strings as a JSON string, in any case. The caller parses
 * them to confirm the match.
 */
export function listContaining(
  db: Db,
  organisationId: string,
  texts: readonly string[],
): Promise<Pick<StoredConfig, 'id' | 'slug' | 'config'>[]> {
  return table.rows
    .matching(db, { organisation_id: organisationId })
    .select(['id', 'slug', 'config'])
    .where((eb) => eb.or(texts.map((text) => contains(sql.ref('config'), JSON.stringify(text)))))
    .execute();
}

/** Makes `config`, which `owner` declares, the only default of its workspace or of the organisation. */
export async function updateOtherDefaults(
  tx: Db,
  config: Pick<StoredConfig, 'id' | 'organisation_id' | 'workspace_id'>,
  owner: string | null,
): Promise<void> {
  snapshotMarks.replaceOne(tx, config.organisation_id);
  const { organisation_id: organisationId } = config;
  const others = await table.rows.list(
    tx,
    {
      organisation_id: organisationId,
      workspace_id: config.workspace_id,
      is_default: 1,
      id: not(config.id),
    },
    { columns: ['id'] },
  );
  const ids = others.map(({ id }) => id);
  await removeDefaultFlag(tx, { table: 'configs', kind: 'Config', organisationId, ids, owner });
}

/** Deletes a config with its versions. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await versions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
