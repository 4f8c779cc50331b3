/** Knows whether a database is under a master key, and under which. */
import { findMissing } from '../auth/data-keys.ts';
import { createMasterKeys } from '../auth/master-keys.ts';
import type { MasterKeySettings } from '../settings/master-keys.ts';
import type { DatabaseSettings } from '../settings.ts';
import { openDatabase } from '../store/connection/db.ts';
import * as dataKeys from '../store/tables/data-keys.ts';

/**
 * Proves the master keys against a database that may need migrating first. Throws a Failure when its keys
 * are under another; all else that is wrong with the database is for those who go on to use it.
 */
export async function proveMasterKeys(
  databaseSettings: DatabaseSettings,
  masterKeys: MasterKeySettings,
): Promise<void> {
  await using database = openDatabase(databaseSettings);
  const fault = await findMissing(database.db, createMasterKeys(masterKeys)).catch(() => null);
  if (fault !== null) throw fault;
}

/** Whether a database that may need migrating first has keys under a master key; false where it does not answer. */
export async function usesMasterKey(databaseSettings: DatabaseSettings): Promise<boolean> {
  await using database = openDatabase(databaseSettings);
  const key = await dataKeys.find(database.db, dataKeys.deploymentId).catch(() => undefined);
  return key !== undefined;
}
