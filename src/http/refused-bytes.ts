/** Knows what is told of bytes that were refused as no request: each counts, and one of many is logged. */
import type { Log } from '../log.ts';

/** Nothing of what came is in it. */
export interface RefusedBytes {
  readonly status: number;
  /** The parser's own word for what is wrong. */
  readonly code: string | undefined;
}

const logEveryMs = 10_000;

/** To be called for each; a line says how many before it were not logged. */
export function tellRefusedBytes(
  server: string,
  observe: (status: number, server: string) => void,
  log: Log,
  monotonicMs = () => performance.now(),
): (refused: RefusedBytes) => void {
  let quietUntilMs = 0;
  let unlogged = 0;
  return ({ status, code }) => {
    observe(status, server);
    unlogged += 1;
    const nowMs = monotonicMs();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + logEveryMs;
    const others = unlogged - 1;
    unlogged = 0;
    log.info({ server, status, code, others }, 'bytes that are no request are refused');
  };
}
