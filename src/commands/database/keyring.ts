/** Opens the keyring of a command's database. */
import { missingMasterKey } from '../../app/missing-settings.ts';
import { createKeyring, type Keyring } from '../../auth/keyring.ts';
import { createMasterKeys } from '../../auth/master-keys.ts';
import type { Settings } from '../../settings.ts';
import type { Database } from '../../store/connection/db.ts';
import { readHomeKeys } from './home-keys.ts';

/**
 * Uses the master key of the settings, else that of the home (a folder).
 *
 * @throws Failure when there is no master key, or not the one that the database uses
 */
export async function openKeyring(
  settings: Pick<Settings, 'masterKeys'>,
  home: string,
  database: Pick<Database, 'db' | 'readable'>,
): Promise<Keyring> {
  const masterKeys = settings.masterKeys ?? readHomeKeys(home);
  if (masterKeys === null) throw missingMasterKey();
  const keyring = createKeyring(database, createMasterKeys(masterKeys));
  await keyring.open();
  return keyring;
}
