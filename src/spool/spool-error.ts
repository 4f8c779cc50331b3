/** Errors of the spool, and their reasons in words. */
import { diskFaults } from '../durable-files.ts';

/** A record was not taken, because there is no room for it or its disk does not take it. */
export class SpoolRefusal extends Error {
  override name = 'SpoolRefusal';
}

const reasons: Readonly<Record<string, string>> = {
  ...diskFaults,
  ENOENT: 'it does not exist',
  ENOTDIR: 'it is not a folder',
};

export function spoolReason(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return reasons[String(code)] ?? String(message ?? error);
}

/** Whether less data on the disk would help. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
