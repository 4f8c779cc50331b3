/** Knows how the database says that a unique row already exists. */

/** ER_DUP_ENTRY, on MariaDB and MySQL alike. */
const duplicateEntry = 1062;

export function isDuplicateEntry(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === duplicateEntry;
}

/** Whether a row could be written; the statement alone is undone, so that a transaction goes on. */
export async function unlessDuplicate(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (isDuplicateEntry(error)) return false;
    throw error;
  }
}
