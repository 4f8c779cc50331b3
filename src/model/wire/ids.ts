/** Knows how resources and records are numbered: UUIDs that grow with time, as text and as bytes. */
import { randomFillSync } from 'node:crypto';
import { parse, v7 } from 'uuid';

/**
 * A new id (UUID version 7). Those of one process grow, so that rows lie on disk, and lists show
 * them, in the order in which they were made.
 */
export function newId(): string {
  return idFromBytes(v7(newParts(), written));
}

let ready: string | null = null;

/** As {@link newId}, and one that was made before where there is one: its time is that of when it was made. */
export function readyId(): string {
  const id = ready ?? newId();
  ready = null;
  return id;
}

/** To be called when nobody waits, so that whoever wants the next one need not. */
export function makeIdReady(): void {
  ready ??= newId();
}

/** The 16 bytes of a new id. */
export function newIdBytes(): Buffer {
  return v7(newParts(), Buffer.allocUnsafe(16));
}

/**
 * The 16 bytes of a new id whose time is that of what it names, milliseconds since the epoch: see
 * {@link momentOf}.
 */
export function newIdBytesAt(ms: number): Buffer {
  sequence = (sequence + 1) >>> 0;
  return v7({ random: newRandom(), msecs: ms, seq: sequence }, Buffer.allocUnsafe(16));
}

/** When what {@link newIdBytesAt} has named came about; of any other id, something. */
export function momentOf(id: Buffer): number {
  return id.readUIntBE(0, 6);
}

/** Of an id that is wanted as text only. */
const written = Buffer.alloc(16);
/** Asked for many at a time, which costs hardly more than one; each of its parts is used once. */
const randomPool = Buffer.alloc(256 * 16);
const randoms = Array.from({ length: 256 }, (_, at) => randomPool.subarray(at * 16, at * 16 + 16));
let randomAt = randoms.length;
let latestMs = 0;
/** Of 32 bits; grows within a millisecond. */
let sequence = 0;

function newRandom(): Buffer {
  if (randomAt === randoms.length) {
    randomFillSync(randomPool);
    randomAt = 0;
  }
  randomAt += 1;
  return randoms[randomAt - 1]!;
}

function newParts() {
  const random = newRandom();
  const now = Date.now();
  if (now > latestMs) {
    latestMs = now;
    // Its highest bit is left for those that follow.
    sequence = random.readUInt32BE(6) >>> 1;
  } else sequence += 1;
  return { random, msecs: latestMs, seq: sequence };
}

/** The 16 bytes of an id, for tables that grow with traffic: less than half of its text. */
export function idToBytes(id: string): Buffer {
  return Buffer.from(parse(id));
}

/** Reverses {@link idToBytes}. */
export function idFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
