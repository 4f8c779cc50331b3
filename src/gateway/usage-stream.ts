/** Knows how the events of a stream are looked through for what was used, and how what was asked for on behalf of the gateway is taken out. */
import { noteUsage, nothingSaid, type SaidUsage } from './usage.ts';

const marker = Buffer.from('"usage"');
const lineFeed = 0x0a;
/** A line that is longer holds no usage. */
const lineBytesMax = 256 * 1024;
const nothing = Buffer.alloc(0);

/** Events go through it; their bytes are as they were, save for those that are taken out. */
export class UsageStream {
  readonly said: SaidUsage = nothingSaid();
  /** Of all that came. */
  bytes = 0;
  /** Pieces that came; a provider sends about one for a token. */
  events = 0;
  readonly #takesOut: boolean;
  /** What came of a line that has not ended. */
  #begun: Buffer = nothing;
  #isTooLong = false;

  /** `takesOut`: the caller has not asked for the event that says the usage and nothing else. */
  constructor(takesOut: boolean) {
    this.#takesOut = takesOut;
  }

  /** What of it goes to the caller. */
  pass(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    this.events += 1;
    const end = chunk.lastIndexOf(lineFeed);
    if (end < 0) return this.#hold(chunk);
    const whole = this.#join(chunk.subarray(0, end + 1));
    const rest = chunk.subarray(end + 1);
    this.#isTooLong = false;
    this.#begun = nothing;
    const passed = whole.includes(marker) ? this.#read(whole) : whole;
    if (!this.#takesOut) {
      // Nothing is held back; of what began only a copy is kept, to be looked at with its end.
      const kept = this.#keep(rest);
      this.#begun = kept;
      return chunk;
    }
    this.#begun = rest;
    return passed;
  }

  /** What was held back of a line that never ended. */
  rest(): Buffer {
    const rest = this.#takesOut ? this.#begun : nothing;
    this.#begun = nothing;
    return rest;
  }

  #hold(chunk: Buffer): Buffer {
    if (!this.#takesOut) {
      this.#begun = this.#keep(this.#join(chunk));
      return chunk;
    }
    const all = this.#join(chunk);
    if (all.length <= lineBytesMax) {
      this.#begun = all;
      return nothing;
    }
    this.#begun = nothing;
    return all;
  }

  #keep(bytes: Buffer): Buffer {
    if (this.#isTooLong || bytes.length > lineBytesMax) {
      this.#isTooLong = true;
      return nothing;
    }
    return bytes;
  }

  #join(chunk: Buffer): Buffer {
    return this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk]);
  }

  /** Whole lines, of which one at least speaks of usage. */
  #read(lines: Buffer): Buffer {
    const kept: Buffer[] = [];
    let at = 0;
    while (at < lines.length) {
      const end = lines.indexOf(lineFeed, at) + 1;
      const line = lines.subarray(at, end);
      at = end;
      const isAside = line.includes(marker) && this.#readLine(line);
      if (!isAside) kept.push(line);
      // The empty line behind it goes with it.
      else if (lines[at] === lineFeed) at += 1;
      else if (lines[at] === 0x0d && lines[at + 1] === lineFeed) at += 2;
    }
    return kept.length === 1 ? kept[0]! : Buffer.concat(kept);
  }

  /** Whether the line is there for the gateway alone. */
  #readLine(line: Buffer): boolean {
    if (!line.subarray(0, 5).equals(dataMarker)) return false;
    try {
      const data = JSON.parse(line.toString('utf8', 5)) as {
        readonly choices?: unknown;
        readonly usage?: unknown;
      };
      noteUsage(this.said, data);
      const isEmpty = Array.isArray(data.choices) && data.choices.length === 0;
      return this.#takesOut && isEmpty && typeof data.usage === 'object' && data.usage !== null;
    } catch {
      return false;
    }
  }
}

const dataMarker = Buffer.from('data:');
