/** Deletes rows of the audit log after their retention, lowest position first, so that the hash chain stays intact. */
import { ChainVerifier, proveEnds } from '../model/logs/audit-chain.ts';
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
  /** Null to retain all rows. */
  readonly auditDays: number | null;
  readonly auditKeyOf: AuditKeyOf;
}

export function deleteOldAuditLogs({ auditDays, auditKeyOf }: AuditRetentionOptions): Job {
  return {
    name: 'delete-old-audit-logs',
    cron: '37 * * * *',
    summary: 'Deletes sealed rows of the audit log after their retention',
    feature: null,
    idleBecause: auditDays === null ? 'GATEWRIGHT_AUDIT_RETENTION_DAYS is not set' : null,
    run: async (context) => {
      const before = context.now - auditDays! * dayMs;
      const ids = await auditLog.listOwners(context.db);
      let deleted = 0;
      let at = 0;
      const failures = await workThrough<string>(context, {
        // Each organisation is visited once, because old rows may come after newer ones in the chain.
        list: async () => {
          at += 1;
          return ids.slice(at - 1, at);
        },
        groupKey: (organisationId) => organisationId,
        work: async ([id]) => {
          if (!(await oldRows.hasBefore(context.db, aged, id!, before))) return;
          deleted += await deleteAll(context, id!, await auditKeyOf(id!), before);
        },
        describe: (organisationId) => `the audit log of organisation ${organisationId}`,
      });
      return countsOf({ deleted }, failures);
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

/** Returns the number of deleted rows. The last one becomes the base, whose hash proves the row after it. */
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
    const firstYoung = first.findIndex((row) => row.at >= before);
    const old = firstYoung === -1 ? first : first.slice(0, firstYoung);
    const last = old.at(-1);
    if (last === undefined) return 0;
    const check = new ChainVerifier(key, chain);
    // Deleting manipulated rows would destroy the evidence.
    if (old.some((row) => [...check.verifyPosition([row])].length > 0)) throw broken();
    const ends = { ...chain, base_position: last.chain_position, base_hash: last.chain_hash };
    await auditChains.save(tx, { ...ends, proof: proveEnds(key, ends) }, false);
    await auditChains.deleteUpTo(tx, organisationId, last.chain_position);
    return old.length;
  });
}

function broken(): Error {
  return new Error('rows differ from their seals and are not deleted; run gatewright audit verify');
}
