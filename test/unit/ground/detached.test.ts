/** Verifies that work without a caller reports its failure and ends nothing. */
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import type { createMetrics } from '../../../src/app/metrics.ts';
import { reportUnexpectedErrors } from '../../../src/app/unexpected-errors.ts';
import { detach, observeUnexpected, reportUnexpected } from '../../../src/detached.ts';
import { createLog } from '../../../src/log.ts';

it('reports a rejection to every observer, with the name of the work', async () => {
  const reported = Promise.withResolvers<unknown[]>();
  const stop = observeUnexpected((...both) => reported.resolve(both));
  detach('a poll', Promise.reject(new Error('no')));
  expect(await reported.promise).toEqual([new Error('no'), 'a poll']);
  stop();
});

it('reports a warning of the process when nothing observes', async () => {
  const warned = once(process, 'warning');
  reportUnexpected(new Error('no'), 'a poll');
  expect(String((await warned)[0])).toContain('a poll failed: Error: no');
});

it('counts and logs the error of any promise, so that the process continues', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'error', destination: { write: (line) => lines.push(line) > 0 } });
  const observeUnexpectedError =
    vi.fn<ReturnType<typeof createMetrics>['observeUnexpectedError']>();
  const before = process.listeners('unhandledRejection');
  for (const one of before) process.off('unhandledRejection', one);
  {
    using _ = reportUnexpectedErrors({ observeUnexpectedError }, log);
    const rejected = once(process, 'unhandledRejection');
    Promise.reject(new Error('of a library'));
    await rejected;
  }
  for (const one of before) process.on('unhandledRejection', one);
  expect(observeUnexpectedError.mock.calls).toEqual([['background']]);
  expect(lines.join('')).toContain('of a library');
});
