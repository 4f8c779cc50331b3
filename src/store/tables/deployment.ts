/** Knows the deployment table: facts of this installation, first of all which master key made it. */
import { Failure } from '../../failure.ts';
import type { Db } from '../connection/db.ts';

declare module '../connection/db.ts' {
  interface Tables {
    deployment: { name: string; value: string };
  }
}

const masterKeyCheck = 'master-key-check';
const writeCheck = 'write-check';

/**
 * Records `check` (Keyring.check, not secret) on first use and compares ever after. Throws a Failure
 * when the database was made with another master key: its API keys and sealed values would be
 * unreadable, and every new one would be readable under the wrong key only.
 */
export async function assertMasterKey(db: Db, check: string): Promise<void> {
  await db
    .insertInto('deployment')
    .ignore()
    .values({ name: masterKeyCheck, value: check })
    .execute();
  if ((await findMasterKeyCheck(db)) === check) return;
  throw new Failure(
    'refusedByGuard',
    'The master key is not the one this database was made with, so API keys, client secrets and ' +
      'stored secrets in it cannot be used. Set GATEWRIGHT_MASTER_KEY to the original key, or point ' +
      'gatewright at another database.',
  );
}

/** The check of the master key that this database was made with; null before the first use. */
export async function findMasterKeyCheck(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('deployment')
    .select('value')
    .where('name', '=', masterKeyCheck)
    .executeTakeFirst();
  return row?.value ?? null;
}

/** Changes a row that nobody reads: resolves when the database takes changes. `now` in ms since the epoch. */
export async function tryWrite(db: Db, now: number): Promise<void> {
  const value = String(now);
  await db
    .insertInto('deployment')
    .values({ name: writeCheck, value })
    .onDuplicateKeyUpdate({ value })
    .execute();
}
