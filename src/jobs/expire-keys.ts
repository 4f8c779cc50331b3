/** Expires API keys in batches, each key once, with its audit row in the same transaction. */

import { auditSweep } from '../store/logs/audit-log.ts';
import * as apiKeyExpiry from '../store/resources/api-key-expiry.ts';
import { countsOf, workThrough } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';

export function expireKeys({ auditLogs }: { auditLogs: boolean }): Job {
  const audit = auditSweep(auditLogs);
  return {
    name: 'expire-keys',
    cron: '* * * * *',
    summary: 'Marks API keys whose expires_at has passed as expired',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, now } = context;
      let expired = 0;
      const failures = await workThrough<apiKeyExpiry.DueKey>(context, {
        list: (limit, except) => apiKeyExpiry.listDue(db, now, limit, except),
        // One transaction for each organisation, so that each stays on one shard.
        groupKey: (key) => key.organisation_id,
        work: async (batch) => {
          expired += await expireBatch(context, batch, audit);
        },
        describe: (key) => `ApiKey ${key.id}`,
      });
      return countsOf({ expired }, failures);
    },
  };
}

/**
 * Returns the number of expired keys: all, or none when another replica has expired them. When another
 * replica has expired some of them, the batch is rolled back and repeated one by one, because audit rows
 * must be written only for keys that this process expired.
 */
function expireBatch(
  { transaction, now }: JobContext,
  batch: readonly apiKeyExpiry.DueKey[],
  audit: ReturnType<typeof auditSweep>,
): Promise<number> {
  const organisationId = batch[0]!.organisation_id;
  const ids = batch.map((key) => key.id);
  return transaction(async (tx) => {
    const expired = await apiKeyExpiry.updateDueToExpired(tx, organisationId, ids, now);
    if (expired === 0) return 0;
    if (expired < ids.length) throw new Error('some of these keys were changed meanwhile');
    await audit(tx, {
      organisationId,
      at: now,
      actorId: 'expire-keys',
      action: 'expire',
      resourceKind: 'ApiKey',
      ...apiKeyExpiry.expiryFacts(organisationId, ids),
    });
    return expired;
  });
}
