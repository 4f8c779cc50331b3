/** Defers work of a transaction until just before its commit, for statements whose locks would block others. */

/** The part of a pool or transaction used here. */
interface Transaction {
  readonly isTransaction: boolean;
}

type Works = Map<string, () => Promise<void>>;

const deferred = new WeakMap<Transaction, Works>();

/**
 * Runs `work` after everything else in the transaction, once for each `key`. It is discarded with the
 * transaction; a retried transaction registers it again.
 *
 * @param replaces whether it takes the place of work that is registered under the key already
 * @throws TypeError outside a transaction
 */
export function beforeCommit(
  tx: Transaction,
  key: string,
  work: () => Promise<void>,
  replaces = true,
): void {
  if (!tx.isTransaction) throw new TypeError('this must be written in a transaction');
  const works: Works = deferred.get(tx) ?? new Map();
  if (replaces || !works.has(key)) works.set(key, work);
  deferred.set(tx, works);
}

/** Undefined when no work is registered. */
export function runDeferred(tx: Transaction): Promise<void> | undefined {
  const works = deferred.get(tx);
  return works === undefined ? undefined : runAll(works);
}

async function runAll(works: Works): Promise<void> {
  // In a fixed order, so that concurrent transactions do not deadlock.
  const ordered = [...works].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [, work] of ordered) await work();
}
