/** Knows a lock of the kernel on a file (SQLite's, because Node offers no other). */
import { DatabaseSync } from 'node:sqlite';

const sqliteBusy = 5;
const sqliteNotADatabase = 26;
/** Keeps locks from the garbage collector, which would release them. */
const held = new Set<DatabaseSync>();

/**
 * Locks the file, made where missing. The lock ends with the process however that dies, and never goes
 * stale. Null where another has it; throws where the file is none to lock.
 */
export function lockFile(path: string): Disposable | null {
  const lock = new DatabaseSync(path);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return null;
    throw error;
  }
  held.add(lock);
  return {
    [Symbol.dispose]: () => {
      held.delete(lock);
      lock.close();
    },
  };
}

/** Whether {@link lockFile} threw this because the file is something else than a lock. */
export function isForeign(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === sqliteNotADatabase;
}
