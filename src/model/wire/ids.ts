/** Creates ids of resources and records: UUIDs of version 7, as text and as bytes. */
import { randomFillSync } from 'node:crypto';
import { parse, v7 } from 'uuid';

/**
 * Returns a new UUID of version 7. The ids of one process ascend, so rows are stored and listed in
 * the order of their creation.
 */
export function newId(): string {
  return idFromBytes(v7(newParts(), scratchBytes));
}

let preparedId: string | null = null;

/** Returns the id that {@link prepareId} prepared, with the time of its preparation, or a new one. */
export function takePreparedId(): string {
  const id = preparedId ?? newId();
  preparedId = null;
  return id;
}

/** Prepares the next id; call it when no request is waiting. */
export function prepareId(): void {
  preparedId ??= newId();
}

/** The 16 bytes of a new id. */
export function newIdBytes(): Buffer {
  return v7(newParts(), Buffer.allocUnsafe(16));
}

/**
 * Returns the 16 bytes of a new id that carries the given time, in milliseconds since the epoch.
 * {@link timeOfId} reads the time back.
 */
export function newIdBytesAt(ms: number): Buffer {
  sequence = (sequence + 1) >>> 0;
  return v7({ random: newRandom(), msecs: ms, seq: sequence }, Buffer.allocUnsafe(16));
}

/** Returns the time of an id created by {@link newIdBytesAt}; meaningless for other ids. */
export function timeOfId(id: Buffer): number {
  return id.readUIntBE(0, 6);
}

/** Scratch buffer for ids that are needed as text only. */
const scratchBytes = Buffer.alloc(16);
/** Random bytes are drawn 256 ids at a time, which costs hardly more than one draw; no part is used twice. */
const randomPool = Buffer.alloc(256 * 16);
const randoms = Array.from({ length: 256 }, (_, at) => randomPool.subarray(at * 16, at * 16 + 16));
let randomAt = randoms.length;
let latestMs = 0;
/** A 32-bit number that ascends within a millisecond. */
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
    // The highest bit stays 0 so that later ids of this millisecond can count up.
    sequence = random.readUInt32BE(6) >>> 1;
  } else sequence += 1;
  return { random, msecs: latestMs, seq: sequence };
}

/** The 16 bytes of an id, for tables that grow with traffic: less than half the size of its text. */
export function idToBytes(id: string): Buffer {
  return Buffer.from(parse(id));
}

/** Inverse of {@link idToBytes}. */
export function idFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
