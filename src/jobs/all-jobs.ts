/** Lists all jobs. */
import type { ProviderLists } from '../objects/listed-objects.ts';
import { type Feature, featureSettings, type Settings } from '../settings.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { chargeLostSlices } from './charge-lost-slices.ts';
import { deleteEndedSessions } from './delete-ended-sessions.ts';
import { deleteExpiredFiles } from './delete-expired-files.ts';
import { deleteOldAnswers } from './delete-old-answers.ts';
import { type AuditRetentionOptions, deleteOldAuditLogs } from './delete-old-audit-logs.ts';
import { deleteOldLogs } from './delete-old-logs.ts';
import { deleteOldResponses } from './delete-old-responses.ts';
import { deleteOldUsage } from './delete-old-usage.ts';
import { deleteUnusedBlobs } from './delete-unused-blobs.ts';
import { deleteUnusedThreads } from './delete-unused-threads.ts';
import { emptyVectorStores } from './empty-vector-stores.ts';
import { endLostResponses } from './end-lost-responses.ts';
import { expireKeys } from './expire-keys.ts';
import { expireRuns } from './expire-runs.ts';
import { findLostObjects } from './find-lost-objects.ts';
import { forgetGoneObjects } from './forget-gone-objects.ts';
import { resetUsage } from './reset-usage.ts';
import type { Job } from './runner/job.ts';
import { sealAuditLog } from './seal-audit-log.ts';
import { type SendAlertsOptions, sendAlerts } from './send-alerts.ts';
import { settleOpenCharges } from './settle-open-charges.ts';
import { writeLogExports } from './write-log-exports.ts';

export function allJobs(
  features: Readonly<Record<Feature, boolean>>,
  retention: Settings['inference']['retention'],
  dependencies: SendAlertsOptions & {
    readonly blobs: Pick<StoredBlobs, 'sweep' | 'write' | 'keep'>;
    readonly lists: ProviderLists;
  },
  audit: AuditRetentionOptions,
): Job[] {
  const jobs = [
    expireKeys(features),
    resetUsage(features),
    deleteOldUsage(),
    deleteOldAnswers(),
    deleteOldLogs(retention),
    deleteOldResponses(retention),
    deleteUnusedThreads(retention),
    sealAuditLog(audit),
    deleteOldAuditLogs(audit),
    deleteExpiredFiles(),
    deleteEndedSessions(),
    emptyVectorStores(),
    deleteUnusedBlobs(dependencies.blobs),
    writeLogExports(dependencies),
    expireRuns(),
    endLostResponses(),
    findLostObjects(dependencies.lists),
    forgetGoneObjects(dependencies.lists),
    settleOpenCharges(dependencies.lists),
    chargeLostSlices(),
    sendAlerts(dependencies),
  ];
  return jobs.map((job) =>
    job.feature === null || features[job.feature]
      ? job
      : { ...job, idleBecause: `${featureSettings[job.feature]} is OFF` },
  );
}
