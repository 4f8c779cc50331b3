/** Counts rejected bytes that are not an HTTP request and logs some of them. */
import type { Log } from '../../log.ts';
import { atMostOncePer } from '../../rate-limited.ts';

/** Contains nothing of the bytes themselves. */
export interface RefusedBytes {
  readonly status: number;
  /** Error code of the HTTP parser. */
  readonly code: string | undefined;
}

const logEveryMs = 10_000;

/** Call for each refusal. At most one log entry every 10 s; it gives the number of entries left out. */
export function createRefusedBytesReporter(
  server: string,
  observe: (status: number, server: string) => void,
  log: Log,
  now?: () => number,
): (refused: RefusedBytes) => void {
  let unlogged = 0;
  const report = ({ status, code }: RefusedBytes): void => {
    const others = unlogged - 1;
    unlogged = 0;
    log.info({ server, status, code, others }, 'refused bytes that are not an HTTP request');
  };
  const reportRarely = atMostOncePer(logEveryMs, report, now);
  return (refused) => {
    observe(refused.status, server);
    unlogged += 1;
    reportRarely(refused);
  };
}
