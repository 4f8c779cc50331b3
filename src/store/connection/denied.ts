/** Detects statements that the server rejects for missing privileges. */

/** Access denied to a database, a table, a privileged operation or a routine. */
const deniedErrnos: readonly unknown[] = [1044, 1142, 1227, 1370];

/** Whether the user lacks privileges, so that a retry cannot succeed. */
export function isDenied(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && deniedErrnos.includes(error.errno);
}
