/** Knows how the scheduled jobs of a deployment are put together. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { SharedClock } from '../clock.ts';
import { allJobs } from '../jobs/all-jobs.ts';
import type { JobOutcome } from '../jobs/job-run.ts';
import { createMailer } from '../jobs/mailer.ts';
import { createScheduler, type Scheduler } from '../jobs/scheduler.ts';
import type { AuditKeyOf } from '../jobs/seal-audit-log.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import type { KeptBlobs } from '../store/kept-blobs.ts';
import type { createProviderLists } from './provider-lists.ts';

/** The scheduler of every job, idle until its `start()`; what it runs carries this process's name. */
export function createJobs(parts: {
  readonly settings: Pick<Settings, 'features' | 'inference' | 'alerts' | 'auditDays'>;
  readonly database: Database;
  readonly auditKeyOf: AuditKeyOf;
  readonly blobs: KeptBlobs;
  readonly lists: ReturnType<typeof createProviderLists>;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly onRun?: (run: JobOutcome) => void;
}): Scheduler {
  const { settings, auditKeyOf, blobs, lists, ...rest } = parts;
  const { mail, recipients } = settings.alerts;
  return createScheduler({
    ...rest,
    jobs: allJobs(
      settings.features,
      settings.inference.retention,
      {
        recipients,
        sendMail: mail && createMailer(mail),
        ...{ blobs, lists },
      },
      { auditDays: settings.auditDays, auditKeyOf },
    ),
    owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
  });
}
