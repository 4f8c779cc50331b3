/** Creates the request log and reports lost entries. */
import { RequestLog } from '../gateway/logs/request-log.ts';
import type { Log } from '../log.ts';
import type { Spool } from '../spool/spool.ts';
import type { Database } from '../store/connection/db.ts';

const lossLogEveryMs = 10_000;

export function createRequestLog(database: Database, log: Log, spool: Spool | null): RequestLog {
  let quietUntilMs = 0;
  return new RequestLog({
    database,
    openStream: spool === null ? null : (terms) => spool.stream(terms),
    onLoss: (err, requests) => {
      if (performance.now() < quietUntilMs) return;
      quietUntilMs = performance.now() + lossLogEveryMs;
      log.error({ err, requests }, 'requests are missing in the log of requests');
    },
  });
}
