/** Knows what a transaction does last, after all else: statements whose locks others would wait for. */

/** As much as is asked here of a pool or a transaction. */
interface Transaction {
  readonly isTransaction: boolean;
}

type Works = Map<string, () => Promise<void>>;

const last = new WeakMap<Transaction, Works>();

/**
 * Has `work` done once the transaction has done everything else, and once only under one `key`. It
 * goes with the transaction, and is asked for anew where that is run again.
 *
 * @throws TypeError outside of a transaction, where there is no commit to come before
 */
export function beforeCommit(tx: Transaction, key: string, work: () => Promise<void>): void {
  if (!tx.isTransaction) throw new TypeError('this is to be written in a transaction');
  const works: Works = last.get(tx) ?? new Map();
  works.set(key, work);
  last.set(tx, works);
}

/** Nothing to wait for where nobody has asked for anything. */
export function doLast(tx: Transaction): Promise<void> | undefined {
  const works = last.get(tx);
  return works === undefined ? undefined : doAll(works);
}

async function doAll(works: Works): Promise<void> {
  // In one order, so that no two that hold each other's locks wait for each other.
  const ordered = [...works].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [, work] of ordered) await work();
}
