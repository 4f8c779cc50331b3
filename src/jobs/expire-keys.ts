/** Knows how API keys expire: in batches, each key once, with its audit row in the same transaction. */
import * as apiKeyExpiry from '../store/resources/api-key-expiry.ts';
import { auditSweep } from '../store/logs/audit-log.ts';
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
      const undone = await workThrough<apiKeyExpiry.DueKey>(context, {
        list: (limit, except) => apiKeyExpiry.listDue(db, now, limit, except),
        // A transaction an organisation, so that each stays on one shard.
        sort: (key) => key.organisation_id,
        work: async (batch) => {
          expired += await expireBatch(context, batch, audit);
        },
        describe: (key) => `ApiKey ${key.id}`,
      });
      return countsOf({ expired }, undone);
    },
  };
}

/**
 * Yields how many expired: all, or none where another replica has them. Where it has some of them,
 * the batch is undone, to be tried one by one: an audit row is written for what this one marked only.
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
    if (expired < ids.length) throw new Error('others changed some of these keys meanwhile');
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
