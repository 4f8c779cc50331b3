/** Knows how API keys expire: in batches, each key once, with its audit row in the same transaction. */

import type { Db } from '../store/connection/db.ts';
import * as apiKeyExpiry from '../store/tables/api-key-expiry.ts';
import { type AuditTrail, auditTrail } from '../store/tables/audit-log.ts';
import type { Job, JobContext } from './job.ts';

/** Small enough to stall a concurrent writer for less than a tenth of a second. */
const batchKeysMax = 1000;

export function expireKeys({ auditLogs }: { auditLogs: boolean }): Job {
  const audit = auditTrail(auditLogs);
  return {
    name: 'expire-keys',
    cron: '* * * * *',
    summary: 'Marks API keys whose expires_at has passed as expired',
    idleBecause: null,
    run: async ({ db, transaction, now, signal }: JobContext) => {
      let expired = 0;
      while (!signal.aborted) {
        const due = await apiKeyExpiry.listDue(db, now, batchKeysMax);
        if (due.length === 0) break;
        // A transaction an organisation, so that each stays on one shard.
        for (const [organisationId, keys] of Map.groupBy(due, (key) => key.organisation_id)) {
          const ids = keys.map(({ id }) => id);
          expired += await transaction((tx) =>
            expireBatch(tx, { organisationId, ids }, now, audit),
          );
        }
      }
      return { expired };
    },
  };
}

async function expireBatch(
  tx: Db,
  { organisationId, ids }: { organisationId: string; ids: readonly string[] },
  now: number,
  audit: AuditTrail,
): Promise<number> {
  const keys = await apiKeyExpiry.updateDueToExpired(tx, organisationId, ids, now);
  await audit(
    tx,
    keys.map((key) => ({
      organisationId: key.organisation_id,
      workspaceId: key.workspace_id,
      at: now,
      actorKind: 'job',
      actorId: 'expire-keys',
      action: 'expire',
      resourceKind: 'ApiKey',
      resourceId: key.id,
      requestId: '',
      changes: { status: 'expired', expires_at: key.expires_at },
    })),
  );
  return keys.length;
}
