/** Checks which master key a database uses. */
import { findMissingMasterKey } from '../auth/data-keys.ts';
import { createMasterKeys } from '../auth/master-keys.ts';
import type { MasterKeySettings } from '../settings/groups/master-keys.ts';
import type { DatabaseSettings } from '../settings.ts';
import { openDatabase } from '../store/connection/db.ts';
import * as dataKeys from '../store/resources/data-keys.ts';

/**
 * Verifies the master keys against a database that may not be migrated yet. Ignores other database
 * faults, which later steps report.
 *
 * @throws Failure when the data keys are encrypted under another master key
 */
export async function proveMasterKeys(
  databaseSettings: DatabaseSettings,
  masterKeys: MasterKeySettings,
): Promise<void> {
  await using database = openDatabase(databaseSettings);
  const fault = await findMissingMasterKey(database.db, createMasterKeys(masterKeys)).catch(
    () => null,
  );
  if (fault !== null) throw fault;
}

/** Whether a database, possibly not migrated yet, has keys under a master key; false if unreachable. */
export async function usesMasterKey(databaseSettings: DatabaseSettings): Promise<boolean> {
  await using database = openDatabase(databaseSettings);
  const key = await dataKeys.find(database.db, dataKeys.deploymentId).catch(() => undefined);
  return key !== undefined;
}
