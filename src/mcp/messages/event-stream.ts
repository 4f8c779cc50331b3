/** Splits a stream of server-sent events into events, so that their messages can be read and replaced. */

/** One event with everything that belongs to it, its final blank line included. */
export interface StreamEvent {
  readonly bytes: Buffer;
  /** The data lines joined; null for an event without data, such as a comment. */
  readonly data: string | null;
}

/** The stream contains an event that is larger than the gateway reads. */
export class EventTooLarge extends Error {
  override name = 'EventTooLarge';
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
/** Small pieces cost more than their bytes. */
const piecesMax = 64 * 1024;

export class StreamEventReader {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isLineEmpty = true;
  #isAfterReturn = false;
  #hasLine = false;
  #isFirst = true;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the event that is not complete. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** Returns the events that the chunk completes. @throws EventTooLarge */
  push(chunk: Buffer): StreamEvent[] {
    const events: StreamEvent[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!this.#endsEvent(chunk[at]!)) continue;
      this.#keep(chunk.subarray(from, at + 1));
      events.push(this.#take());
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return events;
  }

  /** The bytes after the last complete event, which clients ignore; null for none. */
  rest(): Buffer | null {
    return this.#pieces.length === 0 ? null : Buffer.concat(this.#pieces);
  }

  /** Line feed, carriage return, or both end a line; an empty line after others ends an event. */
  #endsEvent(byte: number): boolean {
    const isSecondHalf = byte === lineFeed && this.#isAfterReturn;
    this.#isAfterReturn = byte === carriageReturn;
    if (isSecondHalf) return false;
    if (byte !== lineFeed && byte !== carriageReturn) {
      this.#isLineEmpty = false;
      this.#hasLine = true;
      return false;
    }
    const isEnd = this.#isLineEmpty && this.#hasLine;
    this.#isLineEmpty = true;
    return isEnd;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax || this.#pieces.length >= piecesMax) {
      throw new EventTooLarge('an event of the stream is too large');
    }
    this.#pieces.push(piece);
  }

  #take(): StreamEvent {
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    const bytes = this.#isFirst ? withoutMark(whole) : whole;
    this.#isFirst = false;
    this.#pieces = [];
    this.#bytes = 0;
    this.#hasLine = false;
    return { bytes, data: dataOf(bytes) };
  }
}

const byteOrderMark = Buffer.from('\ufeff');

/** Clients ignore a byte order mark before the first event. */
function withoutMark(bytes: Buffer): Buffer {
  const hasMark = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return hasMark ? bytes.subarray(byteOrderMark.length) : bytes;
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('utf8').split(/\r\n|\n|\r/);
}

function dataOf(bytes: Buffer): string | null {
  const values = linesOf(bytes).flatMap((line) => {
    if (line === 'data') return [''];
    return line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : [];
  });
  return values.length === 0 ? null : values.join('\n');
}

/** The event with other data; its id, name and retry time stay. */
export function withEventData({ bytes }: StreamEvent, data: string): Buffer {
  const others = linesOf(bytes).filter(
    (line) => line !== '' && line !== 'data' && !line.startsWith('data:'),
  );
  return Buffer.from([...others, `data: ${data}`, '', ''].join('\n'));
}
