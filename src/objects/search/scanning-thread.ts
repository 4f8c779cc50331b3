/** Knows the thread that keeps embeddings and looks through them: what it is told, in the order in which it is told. */
import { parentPort } from 'node:worker_threads';
import { NearestRows } from './nearest.ts';
import type { ScanFound, ScanOrder } from './scans.ts';

const matrices = new Map<number, Float32Array>();

parentPort!.on('message', (order: ScanOrder) => {
  switch (order.kind) {
    case 'keep':
      matrices.set(order.matrix, order.rows);
      break;
    case 'drop':
      matrices.delete(order.matrix);
      break;
    case 'scan':
      parentPort!.postMessage(scan(order));
  }
});

/** A matrix that is not there has been dropped in the meantime: nothing is found in it. */
function scan({
  id,
  matrices: looked,
  queries,
  limit,
  scoreMin,
}: ScanOrder & { kind: 'scan' }): ScanFound {
  const nearest = queries.map(() => new NearestRows(limit, scoreMin));
  for (const [matrix, number] of looked.entries()) {
    const rows = matrices.get(number);
    if (rows === undefined) continue;
    for (const [n, query] of queries.entries()) nearest[n]!.look(matrix, rows, query);
  }
  return { id, found: nearest.map(({ found }) => found) };
}
