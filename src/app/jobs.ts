/** Creates the scheduler of all jobs, or of those of a region. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { SharedClock } from '../clock.ts';
import { allJobs } from '../jobs/all-jobs.ts';
import { regionJobs } from '../jobs/regions/region-jobs.ts';
import type { JobOutcome } from '../jobs/runner/job-run.ts';
import { createMailer } from '../jobs/runner/mailer.ts';
import { createScheduler, type Scheduler } from '../jobs/runner/scheduler.ts';
import type { AuditKeyOf } from '../jobs/seal-audit-log.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import type { ProcessLink } from './link/process-link.ts';
import type { createProviderLists } from './provider-lists.ts';

/** Idle until `start()`; runs carry the name of this process as owner. */
export function createJobs(parts: {
  readonly settings: Pick<
    Settings,
    'features' | 'inference' | 'alerts' | 'auditDays' | 'controlLink'
  >;
  readonly database: Database;
  readonly auditKeyOf: AuditKeyOf;
  readonly blobs: StoredBlobs;
  readonly lists: ReturnType<typeof createProviderLists>;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly onRun?: (run: JobOutcome) => void;
  /** Null or absent where `database` is the one that the jobs are for. */
  readonly link?: ProcessLink | null;
}): Scheduler {
  const { settings, auditKeyOf, blobs, lists, link, ...rest } = parts;
  if (link?.region) return link.region.createJobs(rest.onRun);
  const { mail, recipients } = settings.alerts;
  const { retention } = settings.inference;
  return createScheduler({
    ...rest,
    jobs:
      settings.controlLink.region === null
        ? allJobs(
            settings.features,
            retention,
            { recipients, sendMail: mail && createMailer(mail), blobs, lists },
            { auditDays: settings.auditDays, auditKeyOf },
          )
        : regionJobs(retention),
    owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
  });
}
