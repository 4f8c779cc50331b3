/** Logs and counts errors of work that no caller waits for, so that they end neither the process nor other work. */
import { observeUnexpected, reportUnexpected } from '../detached.ts';
import type { Log } from '../log.ts';
import type { Metrics } from './metrics.ts';

/** Reports until it is disposed. A promise of a library without a handler counts as well. */
export function reportUnexpectedErrors(
  { observeUnexpectedError }: Pick<Metrics, 'observeUnexpectedError'>,
  log: Log,
): Disposable {
  const stop = observeUnexpected((err, task) => {
    observeUnexpectedError('background');
    log.error({ err, task }, 'work in the background failed');
  });
  const unhandled = (error: unknown): void =>
    reportUnexpected(error, 'a promise without a handler');
  process.on('unhandledRejection', unhandled);
  return {
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', unhandled);
      stop();
    },
  };
}
