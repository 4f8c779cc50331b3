/** Defines the frames of AWS event streams (application/vnd.amazon.eventstream). */

export const frameType = 'application/vnd.amazon.eventstream';

/** Total length, length of the headers, and checksum of both. */
export const preludeBytes = 12;
export const checksumBytes = 4;
/** Bound of one frame; AWS sends at most 16 MiB of payload and 128 KiB of headers. */
export const frameBytesMax = 16 * 1024 * 1024 + 128 * 1024 + preludeBytes + checksumBytes;
export const headerBytesMax = 128 * 1024;
export const headersMax = 64;
/** Type of a header whose value is a text. */
export const textHeader = 7;

/** Bytes of the values of other header types; -1 for a value with its length before it. */
export const headerValueBytes: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];

/** A frame violates the format, so nothing after it can be read. */
export class FrameFault extends Error {
  override name = 'FrameFault';
  /** Shown in place of the code of a network error. */
  readonly code = 'invalid event stream';
}

export interface Frame {
  /** Text headers by name, such as `:event-type`. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Buffer;
}
