/** Seals new rows of the audit log into the hash chains of their organisations. */
import { emptyChain, proveEnds, sealRows } from '../model/logs/audit-chain.ts';
import type { Db } from '../store/connection/db.ts';
import * as auditChains from '../store/logs/audit-chains.ts';
import * as auditLog from '../store/logs/audit-log.ts';
import { countsOf, workThrough } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';

/** The key under which the audit log of an organisation is sealed. */
export type AuditKeyOf = (organisationId: string) => Buffer | Promise<Buffer>;

export interface AuditOptions {
  readonly auditKeyOf: AuditKeyOf;
}

const rowsMax = 250;
const organisationsMax = 200;
const dayMs = 86_400_000;

export function sealAuditLog({ auditKeyOf }: AuditOptions): Job {
  return {
    name: 'seal-audit-log',
    cron: '* * * * *',
    summary: 'Seals new rows of the audit log into the hash chains of their organisations',
    feature: 'auditLogs',
    idleBecause: null,
    run: async (context) => {
      let sealed = 0;
      const failures = await workThrough<string>(context, {
        list: (limit, except) => listDue(context.db, limit, except),
        groupKey: (organisationId) => organisationId,
        work: async ([organisationId]) => {
          sealed += await sealAll(context, organisationId!, await auditKeyOf(organisationId!));
        },
        describe: (organisationId) => `the audit log of organisation ${organisationId}`,
      });
      return countsOf({ sealed }, failures);
    },
  };
}

async function listDue(db: Db, limit: number, except: readonly string[]): Promise<string[]> {
  const ids = await auditLog.listOwners(db);
  const due: string[] = [];
  for (let at = 0; at < ids.length && due.length < limit; at += organisationsMax) {
    due.push(...(await auditChains.listDue(db, ids.slice(at, at + organisationsMax))));
  }
  return due.filter((id) => !except.includes(id));
}

async function sealAll(context: JobContext, organisationId: string, key: Buffer): Promise<number> {
  let total = 0;
  for (let sealed = rowsMax; sealed === rowsMax && !context.signal.aborted; total += sealed) {
    sealed = await sealSome(context, organisationId, key);
  }
  return total;
}

/** Returns the number of sealed rows. */
async function sealSome(
  { transaction, now, log }: JobContext,
  organisationId: string,
  key: Buffer,
): Promise<number> {
  const { sealed, announced } = await transaction(async (tx) => {
    const stored = await auditChains.findForUpdate(tx, organisationId);
    if (stored !== undefined) requireProved(key, stored);
    const rows = await auditChains.listUnsealed(tx, organisationId, rowsMax);
    if (rows.length === 0) return { sealed: 0, announced: null };
    const { seals, chain } = sealRows(key, stored ?? emptyChain(organisationId), rows);
    const positions = seals.map((seal, index) => ({ ...seal, at: rows[index]!.at }));
    await auditChains.seal(tx, organisationId, positions);
    const isAnnouncementDue = now >= (stored?.told_at ?? 0) + dayMs;
    const ends = {
      ...chain,
      proof: proveEnds(key, chain),
      told_at: isAnnouncementDue ? now : stored!.told_at,
    };
    await auditChains.save(tx, ends, stored === undefined);
    return { sealed: rows.length, announced: isAnnouncementDue ? chain : null };
  });
  if (announced !== null) {
    const { head_position: position, head_hash } = announced;
    const head = { organisationId, position, hash: head_hash.toString('hex') };
    log.info(head, 'head of the audit log, for gatewright audit verify --head');
  }
  return sealed;
}

/** @throws Error when the ends of the chain were manipulated, so that new seals cannot hide it */
export function requireProved(key: Buffer, chain: auditChains.AuditChainRow): void {
  if (chain.proof.equals(proveEnds(key, chain))) return;
  throw new Error('sealed rows were changed in the database; run gatewright audit verify');
}
