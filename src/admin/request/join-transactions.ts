/** Joins nested transactions to the outer one, so that several changes are atomic. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '../../store/connection/db.ts';
import type { AdminDeps } from './deps.ts';

/**
 * Wraps a database so that code called within a transaction uses it: nested transactions join it and
 * are retried with it, and reads see its uncommitted rows.
 */
export function joinTransactions(database: AdminDeps['database']): AdminDeps['database'] {
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
