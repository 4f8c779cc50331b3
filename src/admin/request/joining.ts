/** Knows how transactions within a transaction become parts of it, so that several changes are one. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '../../store/connection/db.ts';
import type { AdminDeps } from './deps.ts';

/**
 * The same database, on which whatever runs within a transaction belongs to it: its own transactions,
 * which are repeated with the whole, and its reads, because what has been written is seen there only.
 */
export function joining(database: AdminDeps['database']): AdminDeps['database'] {
  const joined = new AsyncLocalStorage<Db>();
  return {
    get readable() {
      return joined.getStore() ?? database.readable;
    },
    transaction: (work, attemptsMax) => {
      const outer = joined.getStore();
      if (outer !== undefined) return work(outer);
      return database.transaction((tx) => joined.run(tx, () => work(tx)), attemptsMax);
    },
  };
}
