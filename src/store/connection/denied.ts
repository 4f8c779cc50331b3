/** Knows how the server says that its user may not do something. */

/** To a whole database, a table, a privileged act, a routine. */
const deniedErrnos: readonly unknown[] = [1044, 1142, 1227, 1370];

/** Whether the statement was refused for the rights of the user, so that no other try is let through. */
export function isDenied(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && deniedErrnos.includes(error.errno);
}
