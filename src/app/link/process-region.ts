/** Opens the region of a process: its own database for counters and logs, and its work at home. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { createSharedClock, systemClock } from '../../clock.ts';
import type { ControlLink } from '../../control-link/control-link.ts';
import { LinkedBank } from '../../control-link/linked-bank.ts';
import { sendTotals } from '../../control-link/region-totals.ts';
import { Failure } from '../../failure.ts';
import { type LogSink, regionLogSink } from '../../gateway/logs/log-sink.ts';
import { regionJobs } from '../../jobs/regions/region-jobs.ts';
import type { JobOutcome } from '../../jobs/runner/job-run.ts';
import { createScheduler, type Scheduler } from '../../jobs/runner/scheduler.ts';
import type { LimitBank } from '../../ledger/limit-bank.ts';
import { Borrower } from '../../ledger/regions/borrower.ts';
import { RegionBank } from '../../ledger/regions/region-bank.ts';
import { RegionWork } from '../../ledger/regions/region-work.ts';
import type { Log } from '../../log.ts';
import { atMostOncePer } from '../../rate-limited.ts';
import type { Settings } from '../../settings.ts';
import { RepeatedWork } from '../../snapshot/repeated-work.ts';
import { openDatabase } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import { DatabaseUnavailable } from '../../store/connection/unavailable.ts';
import { assertUsableSchema } from '../../store/migrations/migration-state.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { readSchemaStatus } from '../../store/schema-status.ts';
import type { RegionState } from '../outages/link-state.ts';

export interface ProcessRegion extends RegionState, AsyncDisposable {
  /** Refuses like a database that is away until {@link prove} has succeeded; so does the sink. */
  readonly bank: LimitBank;
  readonly logSink: LogSink;
  /**
   * Verifies the region's database, once.
   *
   * @throws DatabaseUnavailable, and Failure when its schema is of another version or it is the database of home
   */
  prove(): Promise<void>;
  /** Begins to report to home. */
  start(): void;
  /** Jobs of the region's database. */
  createJobs(onRun?: (run: JobOutcome) => void): Scheduler;
}

/** Intervals of looking for what is due at home. */
const turnMs = 100;
const totalsMs = 1_000;
const failureLogEveryMs = 10_000;

/** Null for a process without a region. */
export function openProcessRegion(
  {
    controlLink: { region: name },
    database: settings,
    inference,
  }: Pick<Settings, 'controlLink' | 'database' | 'inference'>,
  link: ControlLink,
  log: Log,
): ProcessRegion | null {
  if (name === null || settings === null) return null;
  const database = openDatabase(settings, { log });
  const report = atMostOncePer(failureLogEveryMs, (err) =>
    log.warn({ err, region: name }, 'the region cannot exchange units and totals with its home'),
  );
  const borrower = new Borrower({ database, home: new LinkedBank(link), onAway: report });
  // Windows begin and end by the time of home, which the gateways know.
  const bank = new RegionBank({ database, borrower, now: Date.now });
  const work = new RegionWork({ database, borrower, onFailure: report });
  const exchanging = new RepeatedWork(async () => {
    await work.turn();
    return turnMs;
  });
  const totalling = new RepeatedWork(async () => {
    await sendTotals(database, link).catch(report);
    return totalsMs;
  });
  const logSink = regionLogSink(database);
  let isProven = false;
  const proven = async <T>(use: () => Promise<T>): Promise<T> => {
    if (!isProven) throw new DatabaseUnavailable("The region's database is not verified yet");
    return use();
  };
  return {
    database,
    bank: {
      exchange: (request) => proven(() => bank.exchange(request)),
      listWanted: (holders) => proven(() => bank.listWanted(holders)),
      settle: (...both) => proven(() => bank.settle(...both)),
      close: (holder) => proven(() => bank.close(holder)),
    },
    logSink: { write: (...both) => proven(() => logSink.write(...both)) },
    isProven: () => isProven,
    prove: async () => {
      if (isProven) return;
      assertUsableSchema(await readSchemaStatus(database.db), settings.name);
      if ((await organisations.listIds(database.db)).length > 0)
        throw databaseOfHome(settings.name);
      isProven = true;
      log.info({ region: name, tls: database.tls() }, "connected to the region's database");
    },
    start: () => {
      exchanging.start();
      totalling.start();
    },
    createJobs: (onRun) =>
      createScheduler({
        database,
        jobs: regionJobs(inference.retention),
        clock: createSharedClock(systemClock, () => readServerTime(database.db)),
        log,
        owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
        ...(onRun === undefined ? {} : { onRun }),
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([exchanging.stop(), totalling.stop()]);
      await database[Symbol.asyncDispose]();
    },
  };
}

function databaseOfHome(name: string): Failure {
  return new Failure(
    'invalidInput',
    `The database ${name} belongs to a control plane, and GATEWRIGHT_REGION needs one that only this region ` +
      'uses: set DB_NAME to another one, and create its schema with `gatewright migrate`',
  );
}
