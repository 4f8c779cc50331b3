/** Knows the chain of an audit log: how each row is proved together with all before it, and what breaks it. */
import { createHmac } from 'node:crypto';

/** A row as it is sealed: what it says, and its place. */
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
  /** Id of the row before it; null for the first. */
  readonly chain_previous: Buffer | null;
  readonly chain_hash: Buffer;
}

/** What a row says, before it has a place. */
export type UnsealedRow = Omit<SealedRow, 'chain_position' | 'chain_previous' | 'chain_hash'>;

/** A row's place, to be written into it. */
export type Seal = Pick<SealedRow, 'id' | 'chain_position' | 'chain_previous' | 'chain_hash'>;

/** Which part of an organisation's log is sealed: all rows behind the base, up to the head. */
export interface ChainEnds {
  readonly organisation_id: string;
  /** 0 and noughts where nothing was deleted yet. */
  readonly base_position: number;
  readonly base_hash: Buffer;
  /** As the base where no row is sealed. */
  readonly head_position: number;
  readonly head_id: Buffer | null;
  readonly head_hash: Buffer;
}

const hashBytes = 32;

/** The chain of an organisation of which no row is sealed yet. */
export function emptyChain(organisationId: string): ChainEnds {
  const nothing = Buffer.alloc(hashBytes);
  return {
    organisation_id: organisationId,
    ...{ base_position: 0, base_hash: nothing },
    ...{ head_position: 0, head_id: null, head_hash: nothing },
  };
}

/** Seals rows behind the head of a chain, in their order; yields what to write into each, and the chain with its new head. */
export function sealRows(
  key: Buffer,
  chain: ChainEnds,
  rows: readonly UnsealedRow[],
): { readonly seals: readonly Seal[]; readonly chain: ChainEnds } {
  let { head_position, head_id, head_hash } = chain;
  const seals = rows.map((row): Seal => {
    const place = { chain_position: head_position + 1, chain_previous: head_id };
    head_hash = hashOf(key, { ...row, ...place }, head_hash);
    head_position += 1;
    head_id = row.id;
    return { id: row.id, ...place, chain_hash: head_hash };
  });
  return { seals, chain: { ...chain, head_position, head_id, head_hash } };
}

/** HMAC-SHA256 over the row and the hash of the one before. */
function hashOf(key: Buffer, row: Omit<SealedRow, 'chain_hash'>, previous: Buffer): Buffer {
  const says = [
    ...[row.chain_position, row.chain_previous?.toString('hex') ?? null, row.organisation_id],
    ...[row.at, row.id.toString('hex'), row.workspace_id, row.actor_kind, row.actor_id],
    ...[row.action, row.resource_kind, row.resource_id, row.request_id, row.changes],
  ];
  return createHmac('sha256', key).update(previous).update(JSON.stringify(says)).digest();
}

/** HMAC-SHA256 over both ends, so that nobody without the key can move them. */
export function proofOf(key: Buffer, chain: ChainEnds): Buffer {
  const says = [
    ...['ends', chain.organisation_id, chain.base_position, chain.base_hash.toString('hex')],
    ...[chain.head_position, chain.head_id?.toString('hex') ?? null],
    chain.head_hash.toString('hex'),
  ];
  return createHmac('sha256', key).update(JSON.stringify(says)).digest();
}

/** What is wrong with a chain, and where. */
export interface ChainFault {
  /**
   * `changed`: a row says something else than when it was sealed. `removed`: rows are gone. `inserted`: a row
   * claims a place that is another's or none. `backdated`: a row was sealed long after the time that it
   * tells. `moved`: the record of the ends is not the one that was written.
   */
  readonly fault: 'changed' | 'removed' | 'inserted' | 'backdated' | 'moved';
  /** The first place that is meant, and the last. */
  readonly from: number;
  readonly to: number;
  /** Of the row; of removed ones of the last, where the row behind it tells. */
  readonly id: Buffer | null;
}

/** A row tells the time of its request, and is sealed within minutes of it. */
const backdatedMs = 86_400_000;

/** Goes along a chain, row by row in the order of their places, and finds what is wrong. */
export class ChainCheck {
  readonly #key: Buffer;
  readonly #chain: ChainEnds;
  /** The place before the next, and what its hash may be: as stored, and as it should be. */
  #position: number;
  #hashes: readonly Buffer[];
  #latestAt = 0;

  constructor(key: Buffer, chain: ChainEnds) {
    this.#key = key;
    this.#chain = chain;
    this.#position = chain.base_position;
    this.#hashes = [chain.base_hash];
  }

  /** @param alike all rows of one place: one, unless somebody has inserted others */
  *take(alike: readonly SealedRow[]): Generator<ChainFault> {
    const { chain_position: position } = alike[0]!;
    const { base_position, head_position } = this.#chain;
    if (position <= base_position || position > head_position) {
      yield* alike.map((row) => faultAt('inserted', row));
      return;
    }
    const gap = position - this.#position - 1;
    const provable = gap === 0 ? alike.filter((row) => this.#proves(row)) : [];
    const genuine = provable[0] ?? alike[0]!;
    if (gap > 0) {
      const places = { from: this.#position + 1, to: position - 1 };
      yield { fault: 'removed', ...places, id: genuine.chain_previous };
    } else if (provable.length === 0) yield faultAt('changed', genuine);
    yield* alike.filter((row) => row !== genuine).map((row) => faultAt('inserted', row));
    if (genuine.at < this.#latestAt - backdatedMs) yield faultAt('backdated', genuine);
    this.#goOn(genuine, { isProved: provable.length > 0, isNext: gap === 0 });
  }

  /** @param proof as the record of the ends holds it */
  *end(proof: Buffer): Generator<ChainFault> {
    const { head_position, head_hash, head_id } = this.#chain;
    const whole = { from: this.#position + 1, to: head_position };
    if (this.#position < head_position) yield { fault: 'removed', ...whole, id: head_id };
    const isHead =
      this.#position < head_position || this.#hashes.some((hash) => hash.equals(head_hash));
    if (!isHead || !proof.equals(proofOf(this.#key, this.#chain))) {
      yield { fault: 'moved', from: head_position, to: head_position, id: head_id };
    }
  }

  #proves(row: SealedRow): boolean {
    return this.#hashes.some((hash) => hashOf(this.#key, row, hash).equals(row.chain_hash));
  }

  /** Behind a row that is not proved it may be its hash that was changed, or what it says. */
  #goOn(row: SealedRow, { isProved, isNext }: { isProved: boolean; isNext: boolean }): void {
    const should = isNext && !isProved ? [hashOf(this.#key, row, this.#hashes.at(-1)!)] : [];
    this.#hashes = [row.chain_hash, ...should];
    this.#position = row.chain_position;
    this.#latestAt = Math.max(this.#latestAt, row.at);
  }
}

function faultAt(fault: ChainFault['fault'], { chain_position, id }: SealedRow): ChainFault {
  return { fault, from: chain_position, to: chain_position, id };
}
