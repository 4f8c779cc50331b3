/** Sends generated requests to every route of every plane of the served product. */
import { expect, inject, it } from 'vitest';
import { failureText, fuzzRequests } from '../../fuzz/requests/fuzz-requests.ts';
import { startProduct } from '../../fuzz/requests/product.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';

/** About one for each route. */
const requests = isLong ? 20_000 : 1_000;

it('answers generated requests without server errors, in documented forms and without secrets', async () => {
  await using product = await startProduct(inject('databaseServer'));
  const { failures, byPlane, byStatus } = await fuzzRequests(product, {
    seed,
    requests,
    untilMs: null,
    progress: () => undefined,
  });
  expect(failures.map(failureText)).toEqual([]);
  expect(product.ending()).toBe(null);
  expect(Object.keys(byPlane).toSorted()).toEqual(['admin', 'inference', 'mcp', 'metrics']);
  expect(byStatus['2xx']).toBeGreaterThan(requests / 10);
});
