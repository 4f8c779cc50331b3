/** Reads the usage from the events of a stream, and removes the usage event that only the gateway requested. */
import {
  addReportedUsage,
  newReportedUsage,
  type ReportedUsage,
} from '../../model/pricing/reported-usage.ts';
import { ArrivedText } from './arrived-text.ts';

/** Begins `"usage"` and `"usageMetadata"`. */
const marker = Buffer.from('"usage');
const lineFeed = 0x0a;
/** Longer lines contain no usage. */
const lineBytesMax = 256 * 1024;
const nothing = Buffer.alloc(0);

/** Passes bytes through unchanged, except for removed events. */
export class UsageStream {
  readonly reported: ReportedUsage = newReportedUsage();
  /** Bytes received. */
  bytes = 0;
  /** Chunks received; a provider sends about one for each token. */
  events = 0;
  /** The text that arrived. */
  readonly text: ArrivedText;
  readonly #removesUsage: boolean;
  /** Chunks of an incomplete line. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  /** Whether the incomplete line is too long to be read; its rest is passed on. */
  #isTooLong = false;
  /** Whether the last line was removed and the empty line after it is still to come. */
  #isAfterRemoved = false;

  /**
   * `removesUsage`: the caller did not request the event that contains only the usage. `endpoint` is that of the
   * provider.
   */
  constructor(removesUsage: boolean, endpoint: string) {
    this.#removesUsage = removesUsage;
    this.text = new ArrivedText(endpoint);
  }

  /** Returns the bytes for the caller. */
  pass(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    this.events += 1;
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end === 0) return this.#hold(chunk);
    const lines = this.#takePartial(end === chunk.length ? chunk : chunk.subarray(0, end));
    this.text.add(lines);
    const isRead = this.#isAfterRemoved || lines.includes(marker);
    const passed = isRead ? this.#read(lines) : lines;
    this.#isTooLong = false;
    if (end === chunk.length) return this.#removesUsage ? passed : chunk;
    const held = this.#hold(chunk.subarray(end));
    if (!this.#removesUsage) return chunk;
    return held.length === 0 ? passed : Buffer.concat([passed, held]);
  }

  /** Ends the stream: returns what was held back of an incomplete last line, after reading its usage. */
  rest(): Buffer {
    const line = this.#takePartial(nothing);
    const isRemoved = line.includes(marker) && this.#readLine(line);
    return this.#removesUsage && !isRemoved ? line : nothing;
  }

  /** Holds back an incomplete line; returns what the caller receives at once. */
  #hold(chunk: Buffer): Buffer {
    if (this.#isTooLong) return chunk;
    this.#partial.push(chunk);
    this.#partialBytes += chunk.length;
    this.#isTooLong = this.#partialBytes > lineBytesMax;
    const released = this.#isTooLong ? this.#takePartial(nothing) : nothing;
    return this.#removesUsage ? released : chunk;
  }

  /** Returns the held bytes together with `more`. */
  #takePartial(more: Buffer): Buffer {
    if (this.#partial.length === 0) return more;
    const all = Buffer.concat([...this.#partial, more]);
    this.#partial = [];
    this.#partialBytes = 0;
    return all;
  }

  /** Reads complete lines, one of which contains usage or follows one that did. */
  #read(lines: Buffer): Buffer {
    const passed: Buffer[] = [];
    let at = 0;
    let isWhole = !this.#isTooLong;
    while (at < lines.length) {
      const end = lines.indexOf(lineFeed, at) + 1;
      const line = lines.subarray(at, end);
      at = end;
      const isRemoved = isWhole && line.includes(marker) && this.#readLine(line);
      // The empty line after a removed event is removed too.
      if (!isRemoved && !(this.#isAfterRemoved && isBlank(line))) passed.push(line);
      this.#isAfterRemoved = isRemoved;
      isWhole = true;
    }
    return passed.length === 1 ? passed[0]! : Buffer.concat(passed);
  }

  /** Reads the usage of a line; true when only the gateway requested it. */
  #readLine(line: Buffer): boolean {
    if (!line.subarray(0, 5).equals(dataMarker)) return false;
    try {
      const data = JSON.parse(line.toString('utf8', 5)) as {
        readonly choices?: unknown;
        readonly usage?: unknown;
      };
      addReportedUsage(this.reported, data);
      const isEmpty = Array.isArray(data.choices) && data.choices.length === 0;
      return this.#removesUsage && isEmpty && typeof data.usage === 'object' && data.usage !== null;
    } catch {
      return false;
    }
  }
}

const dataMarker = Buffer.from('data:');

function isBlank(line: Buffer): boolean {
  return line.length === 1 || (line.length === 2 && line[0] === 0x0d);
}
