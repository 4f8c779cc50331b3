/** Reads frames of an AWS event stream from chunks of bytes, with bounds and checked checksums. */
import { crc32 } from 'node:zlib';
import {
  checksumBytes,
  type Frame,
  FrameFault,
  frameBytesMax,
  headerBytesMax,
  headersMax,
  headerValueBytes,
  preludeBytes,
  textHeader,
} from './frame.ts';

export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Length of the incomplete frame; null before its prelude has arrived. */
  #length: number | null = null;

  /**
   * Returns the frames that these bytes complete.
   *
   * @throws FrameFault
   */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    while (this.#bytes >= (this.#length ?? preludeBytes)) {
      const held = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      this.#length ??= frameLength(held);
      if (held.length < this.#length) {
        this.#chunks = [held];
        break;
      }
      frames.push(frameIn(held.subarray(0, this.#length)));
      this.#keep(held.subarray(this.#length));
    }
    return frames;
  }

  /** @throws FrameFault when the stream ends within a frame */
  end(): void {
    if (this.#bytes > 0) throw new FrameFault('the stream ends within a frame');
  }

  #keep(rest: Buffer): void {
    this.#length = null;
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }
}

/** Verifies the prelude. */
function frameLength(bytes: Buffer): number {
  const length = bytes.readUInt32BE(0);
  const headersLength = bytes.readUInt32BE(4);
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
    throw new FrameFault('the checksum of a prelude is wrong');
  }
  if (length > frameBytesMax || headersLength > headerBytesMax) {
    throw new FrameFault(`a frame has ${length} bytes with ${headersLength} of headers`);
  }
  if (length < preludeBytes + headersLength + checksumBytes) {
    throw new FrameFault('a frame is shorter than its headers');
  }
  return length;
}

function frameIn(bytes: Buffer): Frame {
  const end = bytes.length - checksumBytes;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
    throw new FrameFault('the checksum of a frame is wrong');
  }
  const headersEnd = preludeBytes + bytes.readUInt32BE(4);
  return {
    headers: headersIn(bytes.subarray(preludeBytes, headersEnd)),
    payload: bytes.subarray(headersEnd, end),
  };
}

/** Returns the text headers; others are skipped. */
function headersIn(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new FrameFault('a header exceeds its frame');
    at += count;
    return bytes.subarray(at - count, at);
  };
  for (let count = 0; at < bytes.length; count += 1) {
    if (count === headersMax) throw new FrameFault(`a frame has more than ${headersMax} headers`);
    const name = take(take(1)[0]!).toString('latin1');
    const type = take(1)[0]!;
    const fixed = headerValueBytes[type];
    if (fixed === undefined) throw new FrameFault(`a header has the unknown type ${type}`);
    const value = fixed >= 0 ? take(fixed) : take(take(2).readUInt16BE(0));
    if (type === textHeader) headers.set(name, value.toString('utf8'));
  }
  return headers;
}
