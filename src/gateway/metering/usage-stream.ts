/** Knows how the events of a stream are looked through for what was used, and how what was asked for on behalf of the gateway is taken out. */
import {
  addReportedUsage,
  newReportedUsage,
  type ReportedUsage,
} from '../../model/pricing/reported-usage.ts';

const marker = Buffer.from('"usage"');
const lineFeed = 0x0a;
/** A line that is longer holds no usage. */
const lineBytesMax = 256 * 1024;
const nothing = Buffer.alloc(0);

/** Events go through it; their bytes are as they were, save for those that are taken out. */
export class UsageStream {
  readonly said: ReportedUsage = newReportedUsage();
  /** Of all that came. */
  bytes = 0;
  /** Pieces that came; a provider sends about one for a token. */
  events = 0;
  readonly #takesOut: boolean;
  /** What came of a line that has not ended. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  /** What comes up to the next line feed is the end of a line of which nothing is kept. */
  #isTooLong = false;
  /** The line before was taken out, and the empty one behind it has not come yet. */
  #isBehindAside = false;

  /** `takesOut`: the caller has not asked for the event that says the usage and nothing else. */
  constructor(takesOut: boolean) {
    this.#takesOut = takesOut;
  }

  /** What of it goes to the caller. */
  pass(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    this.events += 1;
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end === 0) return this.#hold(chunk);
    const lines = this.#taken(end === chunk.length ? chunk : chunk.subarray(0, end));
    const isRead = this.#isBehindAside || lines.includes(marker);
    const passed = isRead ? this.#read(lines) : lines;
    this.#isTooLong = false;
    if (end === chunk.length) return this.#takesOut ? passed : chunk;
    const held = this.#hold(chunk.subarray(end));
    if (!this.#takesOut) return chunk;
    return held.length === 0 ? passed : Buffer.concat([passed, held]);
  }

  /** No more comes: what was held back of a line that never ended, which may say the usage all the same. */
  rest(): Buffer {
    const line = this.#taken(nothing);
    const isAside = line.includes(marker) && this.#readLine(line);
    return this.#takesOut && !isAside ? line : nothing;
  }

  /** Keeps what begins a line, to be looked at with its end; what of it goes to the caller at once. */
  #hold(chunk: Buffer): Buffer {
    if (this.#isTooLong) return chunk;
    this.#begun.push(chunk);
    this.#begunBytes += chunk.length;
    this.#isTooLong = this.#begunBytes > lineBytesMax;
    const released = this.#isTooLong ? this.#taken(nothing) : nothing;
    return this.#takesOut ? released : chunk;
  }

  /** What was kept of a line, with what follows; nothing is kept then. */
  #taken(more: Buffer): Buffer {
    if (this.#begun.length === 0) return more;
    const all = Buffer.concat([...this.#begun, more]);
    this.#begun = [];
    this.#begunBytes = 0;
    return all;
  }

  /** Whole lines, of which one at least speaks of usage or stands behind one that did. */
  #read(lines: Buffer): Buffer {
    const kept: Buffer[] = [];
    let at = 0;
    let isWhole = !this.#isTooLong;
    while (at < lines.length) {
      const end = lines.indexOf(lineFeed, at) + 1;
      const line = lines.subarray(at, end);
      at = end;
      const isAside = isWhole && line.includes(marker) && this.#readLine(line);
      // The empty line behind it goes with it.
      if (!isAside && !(this.#isBehindAside && isBlank(line))) kept.push(line);
      this.#isBehindAside = isAside;
      isWhole = true;
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
      addReportedUsage(this.said, data);
      const isEmpty = Array.isArray(data.choices) && data.choices.length === 0;
      return this.#takesOut && isEmpty && typeof data.usage === 'object' && data.usage !== null;
    } catch {
      return false;
    }
  }
}

const dataMarker = Buffer.from('data:');

function isBlank(line: Buffer): boolean {
  return line.length === 1 || (line.length === 2 && line[0] === 0x0d);
}
