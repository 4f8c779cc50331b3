/** Worker thread that holds embeddings and searches them; it processes orders in the order of arrival. */
import { parentPort } from 'node:worker_threads';
import { NearestRowCollector } from './nearest.ts';
import type { ScanOrder, ScanResult } from './scans.ts';

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

/** A missing matrix was dropped in the meantime; it contributes no results. */
function scan({
  id,
  matrices: looked,
  queries,
  limit,
  scoreMin,
}: ScanOrder & { kind: 'scan' }): ScanResult {
  const nearest = queries.map(() => new NearestRowCollector(limit, scoreMin));
  for (const [matrix, number] of looked.entries()) {
    const rows = matrices.get(number);
    if (rows === undefined) continue;
    for (const [n, query] of queries.entries()) nearest[n]!.add(matrix, rows, query);
  }
  return { id, found: nearest.map(({ rows: found }) => found) };
}
