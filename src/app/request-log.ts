/** Creates the request log and reports lost entries. */
import type { Clock } from '../clock.ts';
import { databaseLogSink } from '../gateway/logs/log-sink.ts';
import { RequestLog } from '../gateway/logs/request-log.ts';
import type { Log } from '../log.ts';
import { startOfRetention } from '../model/logs/log-retention.ts';
import { atMostOncePer } from '../rate-limited.ts';
import type { Settings } from '../settings.ts';
import type { Spool } from '../spool/spool.ts';
import type { Database } from '../store/connection/db.ts';
import type { ProcessLink } from './link/process-link.ts';

const lossLogEveryMs = 10_000;

interface LogParts {
  readonly settings: Pick<Settings, 'inference'>;
  readonly clock: Clock;
  readonly database: Database;
  readonly log: Log;
  readonly spool: Spool | null;
  /** Null in a process with a database. */
  readonly link: ProcessLink | null;
}

export function createRequestLog(parts: LogParts): RequestLog {
  const { database, log, spool, link } = parts;
  return new RequestLog({
    database,
    sink: link?.logSink ?? databaseLogSink(database, () => retainedFromMs(parts)),
    openStream: spool === null ? null : (terms) => spool.stream(terms),
    onLoss: atMostOncePer(lossLogEveryMs, (err, requests) => {
      log.error({ err, requests }, 'requests are missing in the log of requests');
    }),
  });
}

/** Start of the retention of log rows; null when all are kept. */
function retainedFromMs({ settings, clock }: Pick<LogParts, 'settings' | 'clock'>): number | null {
  return startOfRetention(clock.now(), settings.inference.retention.logDays);
}
