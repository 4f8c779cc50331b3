/** Knows how rows of the audit log get their places in the chains of their organisations, after they were written. */
import { emptyChain, proofOf, sealRows } from '../model/logs/audit-chain.ts';
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
    summary: 'Gives new rows of the audit log their places in the chains of their organisations',
    feature: 'auditLogs',
    idleBecause: null,
    run: async (context) => {
      let sealed = 0;
      const undone = await workThrough<string>(context, {
        list: (limit, except) => listDue(context.db, limit, except),
        sort: (organisationId) => organisationId,
        work: async ([organisationId]) => {
          sealed += await sealAll(context, organisationId!, await auditKeyOf(organisationId!));
        },
        describe: (organisationId) => `the audit log of organisation ${organisationId}`,
      });
      return countsOf({ sealed }, undone);
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

/** Yields how many. */
async function sealSome(
  { transaction, now, log }: JobContext,
  organisationId: string,
  key: Buffer,
): Promise<number> {
  const { sealed, told } = await transaction(async (tx) => {
    const found = await auditChains.findForUpdate(tx, organisationId);
    if (found !== undefined) requireProved(key, found);
    const rows = await auditChains.listUnsealed(tx, organisationId, rowsMax);
    if (rows.length === 0) return { sealed: 0, told: null };
    const { seals, chain } = sealRows(key, found ?? emptyChain(organisationId), rows);
    const places = seals.map((seal, index) => ({ ...seal, at: rows[index]!.at }));
    await auditChains.seal(tx, organisationId, places);
    const tells = now >= (found?.told_at ?? 0) + dayMs;
    const told_at = tells ? now : found!.told_at;
    const ends = { ...chain, proof: proofOf(key, chain), told_at };
    await auditChains.save(tx, ends, found === undefined);
    return { sealed: rows.length, told: tells ? chain : null };
  });
  if (told !== null) {
    const { head_position: position, head_hash } = told;
    const head = { organisationId, position, hash: head_hash.toString('hex') };
    log.info(head, 'the head of the audit log, to be compared by gatewright audit verify --head');
  }
  return sealed;
}

/** What was moved is not sealed over. */
export function requireProved(key: Buffer, chain: auditChains.AuditChainRow): void {
  if (chain.proof.equals(proofOf(key, chain))) return;
  throw new Error('what is sealed was changed in the database; look at gatewright audit verify');
}
