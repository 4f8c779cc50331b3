/** Keeps the spool within its bound: refuses records, and drops the oldest of streams that allow it. */
import { detach } from '../detached.ts';
import type { Segment } from './segment.ts';
import type { SegmentList } from './segment-list.ts';
import type { SegmentWriter } from './segment-writer.ts';
import { SpoolRefusal } from './spool-error.ts';
import type { StreamTerms } from './spool-stream.ts';

interface BudgetedStream {
  readonly terms: StreamTerms;
  readonly list: SegmentList;
  readonly writer: SegmentWriter;
}

/** Records that wait for a slow disk, in bytes. */
const unwrittenBytesMax = 16 * 1024 * 1024;
/** Free segments below the bound, so that records need not wait while the oldest are dropped. */
const freeSegments = 2;

export class SpoolBudget {
  readonly #bytesMax: number;
  /** Above this, the oldest records are dropped. */
  readonly #bytesHigh: number;
  readonly #streams: ReadonlyMap<string, BudgetedStream>;
  /** Bytes on disk and on the way to it. */
  used = 0;
  dropped = 0;
  refused = 0;
  /** Why the disk takes no records; null after a write that succeeded. */
  fault: string | null = null;
  #dropping: Promise<boolean> | null = null;
  #isClosed = false;

  constructor(
    bytesMax: number,
    segmentBytes: number,
    streams: ReadonlyMap<string, BudgetedStream>,
  ) {
    this.#bytesMax = bytesMax;
    this.#bytesHigh = bytesMax - freeSegments * segmentBytes;
    this.#streams = streams;
  }

  get #segments(): Segment[] {
    return [...this.#streams.values()].flatMap(({ list }) => list.all);
  }

  get #unwrittenBytes(): number {
    let bytes = 0;
    for (const { writer } of this.#streams.values()) bytes += writer.pendingBytes;
    return bytes;
  }

  get records(): number {
    return this.#segments.reduce((sum, { remaining }) => sum + remaining, 0);
  }

  get oldestMs(): number {
    const waiting = this.#segments.filter(({ isWaiting }) => isWaiting);
    return waiting.reduce((oldest, { ageMs }) => Math.max(oldest, ageMs), 0);
  }

  recount(): void {
    this.used = this.#segments.reduce((sum, { bytes }) => sum + bytes, this.#unwrittenBytes);
  }

  /** @throws SpoolRefusal */
  reserve(bytes: number): void {
    if (this.#isClosed) this.#refuse('The spool is closing');
    this.keepRoom(bytes);
    if (this.used + bytes > this.#bytesMax) {
      this.#refuse(`The spool is full: it contains ${this.used} of ${this.#bytesMax} bytes`);
    }
    if (this.#unwrittenBytes + bytes > unwrittenBytesMax) {
      this.#refuse('The disk of the spool does not keep up');
    }
    this.used += bytes;
  }

  /** Drops the oldest records in the background when the bytes do not fit. */
  keepRoom(bytes = 0): void {
    if (this.used + bytes <= this.#bytesHigh || this.#dropping !== null) return;
    detach('dropping the oldest records of the spool', this.#dropMany(bytes));
  }

  async #dropMany(bytes: number): Promise<void> {
    while (this.used + bytes > this.#bytesHigh && (await this.dropOldest()));
  }

  #refuse(reason: string): never {
    this.refused += 1;
    throw new SpoolRefusal(reason);
  }

  /** Drops records until the bytes fit, as far as there are any that may be dropped. @throws SpoolRefusal */
  async reserveWaiting(bytes: number): Promise<void> {
    while (this.used + bytes > this.#bytesHigh) {
      if (await this.dropOldest()) continue;
      if (!(await this.#closeLargest())) break;
    }
    this.reserve(bytes);
  }

  /** Drops the oldest segment of the largest stream. False when there is none that may be dropped. */
  dropOldest(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.#dropping ??= this.#drop().finally(() => {
      this.#dropping = null;
    });
    return this.#dropping;
  }

  /**
   * Takes and drops nothing from now on, and waits for a segment that is being replaced. Otherwise a process that takes the
   * folder over could read both the segment and, at its next start, its summary.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#dropping?.catch(() => undefined);
  }

  async #drop(): Promise<boolean> {
    for (const { terms, list } of this.#droppable()) {
      const { mayDrop, summarise } = terms.dropping!;
      const oldest = list.oldestDroppable(mayDrop);
      if (oldest === null) continue;
      this.dropped += await list.summarise(oldest, summarise);
      this.recount();
      return true;
    }
    return false;
  }

  /** Makes the segment that grows one that may be dropped. */
  async #closeLargest(): Promise<boolean> {
    const [largest] = this.#droppable();
    const growing = largest?.list.all.find(({ isOpen }) => isOpen);
    if (largest === undefined || growing === undefined) return false;
    largest.list.closeCurrent();
    await largest.writer.settle();
    return largest.list.oldestDroppable(largest.terms.dropping!.mayDrop) !== null;
  }

  /** Largest first. */
  #droppable(): BudgetedStream[] {
    const bytesOf = ({ list }: BudgetedStream): number =>
      list.all.reduce((sum, { bytes }) => sum + bytes, 0);
    return [...this.#streams.values()]
      .filter(({ terms }) => terms.dropping !== null)
      .sort((a, b) => bytesOf(b) - bytesOf(a));
  }
}
