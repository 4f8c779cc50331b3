/** Test program that runs one job in its own process (argument 1: JSON). */
import { createSharedClock } from '../../../src/clock.ts';
import { allJobs } from '../../../src/jobs/all-jobs.ts';
import { createScheduler } from '../../../src/jobs/runner/scheduler.ts';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import { openDatabase } from '../../../src/store/connection/db.ts';

const { settings, password, features, name, nowMs, leaseMs, owner } = JSON.parse(process.argv[2]!);
const unused = () => Promise.reject(new Error('unused'));
await using database = openDatabase({ ...settings, password: new Secret(password, 'test') });
const scheduler = createScheduler({
  database,
  jobs: allJobs(
    features,
    { logDays: 90, totalsDays: 365, responseDays: 30, threadDays: 60 },
    {
      sendMail: null,
      recipients: [],
      lists: {
        has: () => {
          throw new Error('unused');
        },
        read: () => {
          throw new Error('unused');
        },
        lines: () => {
          throw new Error('unused');
        },
        pages: () => {
          throw new Error('unused');
        },
      },
      blobs: { sweep: unused, write: unused, keep: unused },
    },
    { auditDays: null, auditKeyOf: () => Buffer.alloc(32) },
  ),
  clock: createSharedClock({ now: () => nowMs, monotonicMs: () => nowMs }, async () => nowMs),
  log: createLog({ level: 'warn' }),
  owner,
  leaseMs,
});
process.stdout.write(`${JSON.stringify(await scheduler.runNow(name))}\n`);
