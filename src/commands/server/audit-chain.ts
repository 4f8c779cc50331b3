/** Knows how the chain of an organisation is read and proved, a page of rows at a time. */
import {
  type ChainEnds,
  type ChainFault,
  ChainVerifier,
  emptyChain,
  type SealedRow,
} from '../../model/logs/audit-chain.ts';
import type { Db } from '../../store/connection/db.ts';
import * as auditChains from '../../store/logs/audit-chains.ts';

/** A place in a chain, and the hash that stands for all up to it. */
export interface Head {
  readonly position: number;
  readonly hash: Buffer;
}

export interface ChainReport {
  readonly organisationId: string;
  /** Rows that have a place. */
  readonly sealed: number;
  readonly unsealed: number;
  /** Null where nothing is sealed. */
  readonly head: Head | null;
  readonly faults: readonly Fault[];
}

interface Fault extends Omit<ChainFault, 'fault'> {
  readonly fault: ChainFault['fault'] | 'otherHead';
  /** What is meant, where it is there. */
  readonly row: SealedRow | null;
}

const pageRows = 1_000;
/** As many rows of which none was sealed are told. */
const faultsMax = 1_000;

interface Asked {
  /** Told before: all up to it has to be as it was; null for none. */
  readonly head: Head | null;
  readonly signal: AbortSignal;
}

/** Rows that are sealed meanwhile stand behind the head that was read first, and are left to the next time. */
export async function verifyChain(
  db: Db,
  key: Buffer,
  organisationId: string,
  asked: Asked,
): Promise<ChainReport> {
  for (;;) {
    const before = await auditChains.find(db, organisationId);
    const report = await walk(db, key, before ?? emptyChain(organisationId), asked);
    const beyond = await auditChains.listBeyond(db, organisationId, report.position, faultsMax);
    const after = await auditChains.find(db, organisationId);
    // What was deleted for its age meanwhile is no fault.
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

/** From the base to the head. */
async function walk(db: Db, key: Buffer, chain: ChainEnds, { head, signal }: Asked) {
  const check = new ChainVerifier(key, chain);
  const faults: Fault[] = [];
  const { organisation_id: organisationId, head_position: position } = chain;
  let sealed = 0;
  let isKnownHead = head === null || isBase(chain, head);
  for await (const alike of placesOf(db, organisationId, position, signal)) {
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

/** Rows up to it were deleted for their age. */
function isBase({ base_position, base_hash }: ChainEnds, { position, hash }: Head): boolean {
  return position < base_position || (position === base_position && base_hash.equals(hash));
}

/** The rows of each place, those of one place together. */
async function* placesOf(
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
