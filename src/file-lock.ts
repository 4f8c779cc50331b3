/** Provides kernel file locks through SQLite, because Node offers no others. */
import { DatabaseSync } from 'node:sqlite';

const sqliteBusy = 5;
const sqliteNotADatabase = 26;
/** Prevents garbage collection of locks, which would release them. */
const activeLocks = new Set<DatabaseSync>();

/**
 * Locks the file and creates it if missing. The lock ends with the process in any case and never
 * becomes stale. Null when another process holds it; throws when the file is not a lock file.
 */
export function lockFile(path: string): Disposable | null {
  const lock = new DatabaseSync(path);
  try {
    // Without a journal, a full disk does not matter.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return null;
    throw error;
  }
  activeLocks.add(lock);
  return {
    [Symbol.dispose]: () => {
      activeLocks.delete(lock);
      lock.close();
    },
  };
}

/** Whether {@link lockFile} threw this error because the file is not a lock file. */
export function isNotLockFile(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === sqliteNotADatabase;
}
