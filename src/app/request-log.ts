/** Creates the request log and reports lost entries. */
import { RequestLog } from '../gateway/logs/request-log.ts';
import type { Log } from '../log.ts';
import type { Spool } from '../spool/spool.ts';
import type { Database } from '../store/connection/db.ts';
import type { ProcessLink } from './link/process-link.ts';

const lossLogEveryMs = 10_000;

interface LogParts {
  readonly database: Database;
  readonly log: Log;
  readonly spool: Spool | null;
  /** Null in a process with a database. */
  readonly link: ProcessLink | null;
}

export function createRequestLog({ database, log, spool, link }: LogParts): RequestLog {
  let quietUntilMs = 0;
  return new RequestLog({
    database,
    ...(link && { sink: link.logSink }),
    openStream: spool === null ? null : (terms) => spool.stream(terms),
    onLoss: (err, requests) => {
      if (performance.now() < quietUntilMs) return;
      quietUntilMs = performance.now() + lossLogEveryMs;
      log.error({ err, requests }, 'requests are missing in the log of requests');
    },
  });
}
