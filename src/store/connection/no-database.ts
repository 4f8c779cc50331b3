/** Stands in for the database in a process that has none: every use of it fails at once. */
import type { Database, Tables } from './db.ts';
import { buildOn } from './dialect.ts';
import { NoDatabase } from './unavailable.ts';

/** @param reason says why there is no database, in the error of every call that needs one */
export function noDatabase(reason: string): Database {
  const refuse = (): Promise<never> => Promise.reject(new NoDatabase(reason));
  const db = buildOn<Tables>(refuse);
  return {
    db,
    readable: db,
    transaction: refuse,
    ping: refuse,
    isAway: () => true,
    suspect: () => undefined,
    isReaderInUse: async () => false,
    writeRefusedAtMs: () => null,
    pool: () => ({ size: 0, used: 0, pending: 0 }),
    tls: () => null,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
