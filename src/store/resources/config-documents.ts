/** Reads and rewrites the documents of configs and of their versions without a new version of the config. */
import type { Selectable } from 'kysely';
import { idToBytes } from '../../model/wire/ids.ts';
import type { Db, Tables } from '../connection/db.ts';
import { moreThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

const configs = rows('configs');
const versions = rows('config_versions');

/** Documents may have a megabyte. */
const batchRows = 20;

/** A page of the configs of an organisation, by ascending id. */
export function listAfter(
  db: Db,
  organisationId: string,
  id: string,
): Promise<Pick<Selectable<Tables['configs']>, 'id' | 'config'>[]> {
  return configs.list(
    db,
    { organisation_id: organisationId, id: moreThan(id) },
    { columns: ['id', 'config'], orderBy: ['id'], limit: batchRows },
  );
}

/** A page of the versions of one config, by ascending number. */
export function listVersionsAfter(
  db: Db,
  organisationId: string,
  id: string,
  number: number,
): Promise<Pick<Selectable<Tables['config_versions']>, 'number' | 'config'>[]> {
  return versions.list(
    db,
    { organisation_id: organisationId, resource_id: idToBytes(id), number: moreThan(number) },
    { columns: ['number', 'config'], orderBy: ['number'], limit: batchRows },
  );
}

/** Locks the row until the transaction ends. */
export async function findForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<string | null> {
  const row = await configs.findForUpdate(tx, { organisation_id: organisationId, id });
  return row?.config ?? null;
}

export async function rewrite(
  tx: Db,
  organisationId: string,
  id: string,
  config: string,
): Promise<void> {
  await configs.update(tx, { organisation_id: organisationId, id }, { config });
}

export async function rewriteVersion(
  db: Db,
  organisationId: string,
  id: string,
  { number, config }: { readonly number: number; readonly config: string },
): Promise<void> {
  const key = { organisation_id: organisationId, resource_id: idToBytes(id), number };
  await versions.update(db, key, { config });
}
