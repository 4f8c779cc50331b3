/** Verifies the audit chain of an organisation, one page of rows at a time. */
import {
  type ChainEnds,
  type ChainFault,
  ChainVerifier,
  emptyChain,
  type SealedRow,
} from '../../model/logs/audit-chain.ts';
import type { Db } from '../../store/connection/db.ts';
import * as auditChains from '../../store/logs/audit-chains.ts';

/** A position in a chain, and the hash over all rows up to it. */
export interface Head {
  readonly position: number;
  readonly hash: Buffer;
}

export interface ChainReport {
  readonly organisationId: string;
  /** Number of rows with a position. */
  readonly sealed: number;
  readonly unsealed: number;
  /** Null when nothing is sealed. */
  readonly head: Head | null;
  readonly faults: readonly Fault[];
}

interface Fault extends Omit<ChainFault, 'fault'> {
  readonly fault: ChainFault['fault'] | 'otherHead';
  /** The affected row, if it exists. */
  readonly row: SealedRow | null;
}

const pageRows = 1_000;
/** Maximum number of faults reported. */
const faultsMax = 1_000;

interface VerifyOptions {
  /** A head reported earlier, up to which the chain must be unchanged; null for none. */
  readonly head: Head | null;
  readonly signal: AbortSignal;
}

/** Verifies up to the head that was read first; rows sealed meanwhile are left to the next run. */
export async function verifyChain(
  db: Db,
  key: Buffer,
  organisationId: string,
  options: VerifyOptions,
): Promise<ChainReport> {
  for (;;) {
    const before = await auditChains.find(db, organisationId);
    const report = await walk(db, key, before ?? emptyChain(organisationId), options);
    const beyond = await auditChains.listBeyond(db, organisationId, report.position, faultsMax);
    const after = await auditChains.find(db, organisationId);
    // Rows deleted by retention meanwhile are not a fault.
    if (after?.base_position !== before?.base_position) continue;
    const end = after?.head_position ?? 0;
    const foreign = beyond.filter((row) => row.chain_position > end).map(insertedAt);
    const proof = before === undefined ? [] : report.check.verifyEnds(before.proof);
    const faults = [...report.faults, ...[...proof].map(withoutRow), ...foreign];
    const unsealed = await auditChains.countUnsealed(db, organisationId);
    return { organisationId, sealed: report.sealed, unsealed, head: headOf(before), faults };
  }
}

function headOf(chain: auditChains.AuditChainRow | undefined): Head | null {
  return chain === undefined ? null : { position: chain.head_position, hash: chain.head_hash };
}

function withoutRow(fault: ChainFault): Fault {
  return { ...fault, row: null };
}

function insertedAt(row: SealedRow): Fault {
  const { chain_position: position, id } = row;
  return { fault: 'inserted', from: position, to: position, id, row };
}

/** Walks the chain from the base to the head. */
async function walk(db: Db, key: Buffer, chain: ChainEnds, { head, signal }: VerifyOptions) {
  const check = new ChainVerifier(key, chain);
  const faults: Fault[] = [];
  const { organisation_id: organisationId, head_position: position } = chain;
  let sealed = 0;
  let isKnownHead = head === null || isBase(chain, head);
  for await (const alike of rowsByPosition(db, organisationId, position, signal)) {
    sealed += alike.length;
    for (const fault of check.verifyPosition(alike)) {
      faults.push({ ...fault, row: alike.find((row) => row.id === fault.id) ?? null });
    }
    isKnownHead ||= alike.some((row) => isAt(row, head!));
  }
  if (!isKnownHead) {
    const { position } = head!;
    faults.push({ fault: 'otherHead', from: position, to: position, id: null, row: null });
  }
  return { check, faults, sealed, position };
}

function isAt({ chain_position, chain_hash }: SealedRow, { position, hash }: Head): boolean {
  return chain_position === position && chain_hash.equals(hash);
}

/** Whether rows up to this position were deleted by retention. */
function isBase({ base_position, base_hash }: ChainEnds, { position, hash }: Head): boolean {
  return position < base_position || (position === base_position && base_hash.equals(hash));
}

/** Yields the rows grouped by position. */
async function* rowsByPosition(
  db: Db,
  organisationId: string,
  headPosition: number,
  signal: AbortSignal,
): AsyncGenerator<SealedRow[]> {
  let alike: SealedRow[] = [];
  let after: auditChains.ChainPosition | null = null;
  for (let isMore = true; isMore; ) {
    signal.throwIfAborted();
    const rows: SealedRow[] = await auditChains.listSealed(db, organisationId, after, pageRows);
    for (const row of rows) {
      if (row.chain_position > headPosition) break;
      if (alike.length > 0 && alike[0]!.chain_position !== row.chain_position) {
        yield alike;
        alike = [];
      }
      alike.push(row);
    }
    after = rows.at(-1) ?? null;
    isMore = rows.length === pageRows && after!.chain_position <= headPosition;
  }
  if (alike.length > 0) yield alike;
}
