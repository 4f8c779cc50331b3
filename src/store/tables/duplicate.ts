/** Knows how the database says that a unique row already exists. */

/** ER_DUP_ENTRY, on MariaDB and MySQL alike. */
const duplicateEntry = 1062;

export function isDuplicateEntry(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === duplicateEntry;
}
