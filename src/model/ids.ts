/** Knows how resources and records are numbered: UUIDs that grow with time, as text and as bytes. */
import { parse, stringify, v7 } from 'uuid';

/**
 * A new id (UUID version 7). Those of one process grow, so that rows lie on disk, and lists show
 * them, in the order in which they were made.
 */
export function newId(): string {
  return v7();
}

/** The 16 bytes of a new id. */
export function newIdBytes(): Buffer {
  return v7(undefined, Buffer.allocUnsafe(16));
}

/** The 16 bytes of an id, for tables that grow with traffic: less than half of its text. */
export function idToBytes(id: string): Buffer {
  return Buffer.from(parse(id));
}

/** Reverses {@link idToBytes}. */
export function idFromBytes(bytes: Buffer): string {
  return stringify(bytes);
}
