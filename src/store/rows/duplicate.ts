/** Detects errors of duplicate unique values. */

/** ER_DUP_ENTRY, on MariaDB and MySQL alike. */
const duplicateEntry = 1062;

export function isDuplicateEntry(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === duplicateEntry;
}

/** Returns false when a unique value exists. Only the statement is rolled back, so that a transaction can continue. */
export async function unlessDuplicate(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (isDuplicateEntry(error)) return false;
    throw error;
  }
}
