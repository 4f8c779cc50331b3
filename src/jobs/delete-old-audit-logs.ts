/** Knows how long the audit log is kept, and how its rows go: oldest place first, so that the chain stays one. */
import { ChainCheck, proofOf } from '../model/logs/audit-chain.ts';
import * as auditChains from '../store/logs/audit-chains.ts';
import * as auditLog from '../store/logs/audit-log.ts';
import * as oldRows from '../store/rows/old-rows.ts';
import { countsOf, workThrough } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';
import { type AuditKeyOf, requireProved } from './seal-audit-log.ts';

const dayMs = 86_400_000;
const rowsMax = 500;
const aged = { table: 'audit_log', column: 'at' } as const;

export interface AuditRetentionOptions {
  /** Null where rows are kept for good. */
  readonly auditDays: number | null;
  readonly auditKeyOf: AuditKeyOf;
}

export function deleteOldAuditLogs({ auditDays, auditKeyOf }: AuditRetentionOptions): Job {
  return {
    name: 'delete-old-audit-logs',
    cron: '37 * * * *',
    summary: 'Deletes sealed rows of the audit log once they are older than is kept',
    feature: null,
    idleBecause: auditDays === null ? 'GATEWRIGHT_AUDIT_RETENTION_DAYS is not set' : null,
    run: async (context) => {
      const before = context.now - auditDays! * dayMs;
      const ids = await auditLog.listOwners(context.db);
      let deleted = 0;
      let at = 0;
      const undone = await workThrough<string>(context, {
        // Each is looked at once: what is old may still stand behind what is not.
        list: async () => {
          at += 1;
          return ids.slice(at - 1, at);
        },
        sort: (organisationId) => organisationId,
        work: async ([id]) => {
          if (!(await oldRows.hasBefore(context.db, aged, id!, before))) return;
          deleted += await deleteAll(context, id!, await auditKeyOf(id!), before);
        },
        describe: (organisationId) => `the audit log of organisation ${organisationId}`,
      });
      return countsOf({ deleted }, undone);
    },
  };
}

async function deleteAll(
  context: JobContext,
  organisationId: string,
  key: Buffer,
  before: number,
): Promise<number> {
  let total = 0;
  for (let deleted = rowsMax; deleted === rowsMax && !context.signal.aborted; total += deleted) {
    deleted = await deleteSome(context, organisationId, key, before);
  }
  return total;
}

/** Yields how many. The last of them becomes the base, whose hash the row behind it is proved by. */
function deleteSome(
  { transaction }: JobContext,
  organisationId: string,
  key: Buffer,
  before: number,
): Promise<number> {
  return transaction(async (tx) => {
    const chain = await auditChains.findForUpdate(tx, organisationId);
    if (chain === undefined) return 0;
    requireProved(key, chain);
    const first = await auditChains.listSealed(tx, organisationId, null, rowsMax);
    const young = first.findIndex((row) => row.at >= before);
    const old = young === -1 ? first : first.slice(0, young);
    const last = old.at(-1);
    if (last === undefined) return 0;
    const check = new ChainCheck(key, chain);
    // Or what somebody has done to them would go with them.
    if (old.some((row) => [...check.take([row])].length > 0)) throw broken();
    const ends = { ...chain, base_position: last.chain_position, base_hash: last.chain_hash };
    await auditChains.save(tx, { ...ends, proof: proofOf(key, ends) }, false);
    await auditChains.deleteUpTo(tx, organisationId, last.chain_position);
    return old.length;
  });
}

function broken(): Error {
  return new Error('rows are not as they were sealed and stay; look at gatewright audit verify');
}
