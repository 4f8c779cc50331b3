/** Seals the audit log in a hash chain, which authenticates each row together with all rows before it, and verifies the chain. */
import { createHmac } from 'node:crypto';

/** A sealed row: its content and its position in the chain. */
export interface SealedRow {
  readonly organisation_id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly id: Buffer;
  readonly workspace_id: string | null;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly action: string;
  readonly resource_kind: string;
  readonly resource_id: string;
  readonly request_id: string;
  readonly changes: string;
  /** From 1, without gaps. */
  readonly chain_position: number;
  /** Id of the previous row; null for the first. */
  readonly chain_previous: Buffer | null;
  readonly chain_hash: Buffer;
}

/** The content of a row that has no position yet. */
export type UnsealedRow = Omit<SealedRow, 'chain_position' | 'chain_previous' | 'chain_hash'>;

/** The position of a row, to be written into it. */
export type Seal = Pick<SealedRow, 'id' | 'chain_position' | 'chain_previous' | 'chain_hash'>;

/** The sealed part of an organisation's log: all rows after the base, up to the head. */
export interface ChainEnds {
  readonly organisation_id: string;
  /** 0, with a zero hash, if nothing has been deleted yet. */
  readonly base_position: number;
  readonly base_hash: Buffer;
  /** Equal to the base if no row is sealed. */
  readonly head_position: number;
  readonly head_id: Buffer | null;
  readonly head_hash: Buffer;
}

const hashBytes = 32;

/** The chain of an organisation without sealed rows. */
export function emptyChain(organisationId: string): ChainEnds {
  const zeroHash = Buffer.alloc(hashBytes);
  return {
    organisation_id: organisationId,
    base_position: 0,
    base_hash: zeroHash,
    head_position: 0,
    head_id: null,
    head_hash: zeroHash,
  };
}

/** Seals rows after the head of a chain, in their order. Returns a seal for each row and the chain with its new head. */
export function sealRows(
  key: Buffer,
  chain: ChainEnds,
  rows: readonly UnsealedRow[],
): { readonly seals: readonly Seal[]; readonly chain: ChainEnds } {
  let { head_position, head_id, head_hash } = chain;
  const seals = rows.map((row): Seal => {
    const position = { chain_position: head_position + 1, chain_previous: head_id };
    head_hash = hashOf(key, { ...row, ...position }, head_hash);
    head_position += 1;
    head_id = row.id;
    return { id: row.id, ...position, chain_hash: head_hash };
  });
  return { seals, chain: { ...chain, head_position, head_id, head_hash } };
}

/** HMAC-SHA256 of the row and the hash of the previous row. */
function hashOf(key: Buffer, row: Omit<SealedRow, 'chain_hash'>, previous: Buffer): Buffer {
  const content = [
    row.chain_position,
    row.chain_previous?.toString('hex') ?? null,
    row.organisation_id,
    row.at,
    row.id.toString('hex'),
    row.workspace_id,
    row.actor_kind,
    row.actor_id,
    row.action,
    row.resource_kind,
    row.resource_id,
    row.request_id,
    row.changes,
  ];
  return createHmac('sha256', key).update(previous).update(JSON.stringify(content)).digest();
}

/** HMAC-SHA256 of both ends of the chain, which prevents moving them without the key. */
export function proveEnds(key: Buffer, chain: ChainEnds): Buffer {
  const content = [
    'ends',
    chain.organisation_id,
    chain.base_position,
    chain.base_hash.toString('hex'),
    chain.head_position,
    chain.head_id?.toString('hex') ?? null,
    chain.head_hash.toString('hex'),
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}

/** A fault of the chain and the positions that it affects. */
export interface ChainFault {
  /**
   * - `changed`: the content of a row differs from what was sealed.
   * - `removed`: rows are missing.
   * - `inserted`: a row uses the position of another row or one outside the chain.
   * - `backdated`: a row was sealed long after its own timestamp.
   * - `moved`: the record of the chain's ends was modified.
   */
  readonly fault: 'changed' | 'removed' | 'inserted' | 'backdated' | 'moved';
  /** First and last affected position. */
  readonly from: number;
  readonly to: number;
  /** Id of the row. For removed rows, id of the last one, if the row after it names it. */
  readonly id: Buffer | null;
}

/** Rows carry the time of their request and are sealed within minutes of it; a day of delay is suspicious. */
const backdatedMs = 86_400_000;

/** Verifies a chain row by row, in the order of positions. */
export class ChainVerifier {
  readonly #key: Buffer;
  readonly #chain: ChainEnds;
  /** The last verified position and its possible hashes: as stored, and as computed. */
  #position: number;
  #hashes: readonly Buffer[];
  #latestAt = 0;

  constructor(key: Buffer, chain: ChainEnds) {
    this.#key = key;
    this.#chain = chain;
    this.#position = chain.base_position;
    this.#hashes = [chain.base_hash];
  }

  /** @param samePosition all rows with one position; more than one means that rows were inserted */
  *verifyPosition(samePosition: readonly SealedRow[]): Generator<ChainFault> {
    const { chain_position: position } = samePosition[0]!;
    const { base_position, head_position } = this.#chain;
    if (position <= base_position || position > head_position) {
      yield* samePosition.map((row) => faultAt('inserted', row));
      return;
    }
    const gap = position - this.#position - 1;
    const provable = gap === 0 ? samePosition.filter((row) => this.#proves(row)) : [];
    const genuine = provable[0] ?? samePosition[0]!;
    if (gap > 0) {
      const range = { from: this.#position + 1, to: position - 1 };
      yield { fault: 'removed', ...range, id: genuine.chain_previous };
    } else if (provable.length === 0) yield faultAt('changed', genuine);
    yield* samePosition.filter((row) => row !== genuine).map((row) => faultAt('inserted', row));
    if (genuine.at < this.#latestAt - backdatedMs) yield faultAt('backdated', genuine);
    this.#advance(genuine, { isProved: provable.length > 0, isNext: gap === 0 });
  }

  /** @param proof the stored proof of the chain's ends */
  *verifyEnds(proof: Buffer): Generator<ChainFault> {
    const { head_position, head_hash, head_id } = this.#chain;
    const rest = { from: this.#position + 1, to: head_position };
    if (this.#position < head_position) yield { fault: 'removed', ...rest, id: head_id };
    const isHead =
      this.#position < head_position || this.#hashes.some((hash) => hash.equals(head_hash));
    if (!isHead || !proof.equals(proveEnds(this.#key, this.#chain))) {
      yield { fault: 'moved', from: head_position, to: head_position, id: head_id };
    }
  }

  #proves(row: SealedRow): boolean {
    return this.#hashes.some((hash) => hashOf(this.#key, row, hash).equals(row.chain_hash));
  }

  /** If a row is not authentic, either its hash or its content was changed, so both hashes are tried for the next row. */
  #advance(row: SealedRow, { isProved, isNext }: { isProved: boolean; isNext: boolean }): void {
    const computed = isNext && !isProved ? [hashOf(this.#key, row, this.#hashes.at(-1)!)] : [];
    this.#hashes = [row.chain_hash, ...computed];
    this.#position = row.chain_position;
    this.#latestAt = Math.max(this.#latestAt, row.at);
  }
}

function faultAt(fault: ChainFault['fault'], { chain_position, id }: SealedRow): ChainFault {
  return { fault, from: chain_position, to: chain_position, id };
}
