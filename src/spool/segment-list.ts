/** The segments of a stream, oldest first: opens new ones, loads, summarises and deletes old ones. */
import { Segment } from './segment.ts';
import { SegmentDeletions } from './segment-deletions.ts';
import { headerBytes, type SpoolKey } from './segment-format.ts';
import { readRecords, writeSummary } from './segment-records.ts';

/** Damage that was found in a segment. */
export interface SegmentDamage {
  readonly path: string;
  readonly reason: string;
}

export interface SegmentListTerms {
  readonly stream: string;
  /** Folder of new segments. */
  readonly directory: () => string;
  readonly segmentBytes: number;
  readonly readKey: () => SpoolKey;
  readonly now: () => number;
  readonly onDamage: (damage: SegmentDamage) => void;
  /** Called when there are other segments than before. */
  readonly onChange: () => void;
  /** Called when the file of a segment is gone. */
  readonly onDelete: (segment: Segment) => void;
}

/** A released segment that still grows is deleted from this size on, and replaced by a new one. */
const doneBytesMin = 64 * 1024;

export class SegmentList {
  readonly #terms: SegmentListTerms;
  readonly #segments: Segment[] = [];
  #current: Segment | null = null;
  #lastNumber = 0;
  readonly #deletions: SegmentDeletions;

  constructor(terms: SegmentListTerms) {
    this.#terms = terms;
    this.#deletions = new SegmentDeletions(terms.onDelete);
  }

  get all(): readonly Segment[] {
    return this.#segments;
  }

  /** Adds segments of another process, in their order, before those of this one. */
  adopt(segments: readonly Segment[]): void {
    const own = this.#segments.findIndex(({ directory }) => directory === this.#terms.directory());
    this.#segments.splice(own < 0 ? this.#segments.length : own, 0, ...segments);
  }

  /** The segment that takes the next record. A segment contains either held records or others. */
  current(isHeld: boolean): Segment {
    const { stream, segmentBytes, now } = this.#terms;
    const current = this.#current;
    if (current !== null && current.isHeld === isHeld) {
      if (current.bytes + current.unwrittenBytes < segmentBytes) return current;
    }
    this.closeCurrent();
    const number = ++this.#lastNumber;
    const header = { number, through: number, isSummary: false, createdAtMs: now() };
    const place = { stream, directory: this.#terms.directory(), header };
    this.#current = new Segment(place, { bytes: headerBytes, isOpen: true, isHeld });
    this.#segments.push(this.#current);
    return this.#current;
  }

  /** The next record gets a new segment. */
  closeCurrent(): void {
    const closed = this.#current;
    this.#current = null;
    if (closed === null) return;
    closed.isOpen = false;
    this.deleteIfDone(closed);
  }

  oldestUnheld(): Segment | null {
    return this.#segments.find(({ isHeld }) => !isHeld) ?? null;
  }

  /** Reads the records of a segment, none if they cannot be read; `settle` writes what is not on disk yet. */
  async load(segment: Segment, settle: () => Promise<void>): Promise<readonly Buffer[]> {
    segment.isLoading = true;
    try {
      if (segment === this.#current) this.closeCurrent();
      if (segment.unwritten > 0) await settle();
      const records = (await this.#read(segment)) ?? [];
      segment.isHeld = true;
      segment.remaining = records.length;
      return records;
    } finally {
      segment.isLoading = false;
      if (segment.isHeld) this.deleteIfDone(segment);
    }
  }

  /** Null for a segment that is given up, because nothing of it can be read. */
  async #read(segment: Segment): Promise<readonly Buffer[] | null> {
    const { onDamage, readKey } = this.#terms;
    const { records, fault, isUnusable, isForeign } = await readRecords(segment, readKey());
    if (fault !== null) onDamage({ path: segment.path, reason: fault });
    if (!isUnusable) return records;
    this.#forget(segment);
    if (!isForeign) await segment.setAside();
    this.#terms.onDelete(segment);
    return null;
  }

  deleteIfDone(segment: Segment): void {
    const { remaining, unwritten, isDeleted, bytes } = segment;
    if (remaining > 0 || unwritten > 0 || isDeleted || segment.isLoading) return;
    if (segment.isOpen) {
      if (bytes >= doneBytesMin) this.closeCurrent();
      return;
    }
    this.#forget(segment);
    this.#deletions.start(segment);
  }

  #forget(segment: Segment): void {
    segment.isDeleted = true;
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    this.#terms.onChange();
  }

  /** Deletes again what the disk did not let go. `isReplaced`: there is a new folder, for all further records. */
  async refresh(isReplaced: boolean): Promise<void> {
    if (isReplaced) this.closeCurrent();
    await this.#deletions.repeat();
  }

  /** Deletes what is delivered; resolves when the files are gone. */
  async close(): Promise<void> {
    this.closeCurrent();
    await this.#deletions.close();
  }

  /** The oldest segment that is closed, written and not a summary. */
  oldestDroppable(mayDrop: (segment: Segment) => boolean): Segment | null {
    return (
      this.#segments.find(
        (one) =>
          !(one.header.isSummary || one.isOpen || one.isLoading) &&
          one.unwritten === 0 &&
          mayDrop(one),
      ) ?? null
    );
  }

  /**
   * Replaces a segment by a summary of its records, merged with the summary before it unless that is being delivered.
   * A process that dies meanwhile leaves either the segment or its summary. Returns the number of dropped records.
   */
  async summarise(
    dropped: Segment,
    summarise: (records: readonly Buffer[], held: Segment | null) => readonly Buffer[],
  ): Promise<number> {
    const before = summaryBefore(this.#segments, dropped);
    const earlier = before === null ? [] : ((await this.#read(before)) ?? []);
    const own = dropped.isHeld ? [] : ((await this.#read(dropped)) ?? []);
    if (dropped.isDeleted) return 0;
    const records = summarise([...earlier, ...own], dropped.isHeld ? dropped : null);
    await this.#replace(before ?? dropped, dropped, records);
    return dropped.isHeld ? dropped.remaining : own.length;
  }

  async #replace(first: Segment, last: Segment, records: readonly Buffer[]): Promise<void> {
    const summary = await writeSummary(first, last, records, this.#terms.readKey());
    const at = this.#segments.indexOf(first);
    for (const gone of new Set([first, last])) this.#forget(gone);
    this.#segments.splice(at, 0, summary);
    this.#terms.onChange();
    if (last !== first) await last.delete();
  }
}

/** The summary that a dropped segment is merged with; null for none. */
function summaryBefore(segments: readonly Segment[], dropped: Segment): Segment | null {
  const before = segments[segments.indexOf(dropped) - 1];
  if (before === undefined || before.isHeld || before.directory !== dropped.directory) return null;
  return before.header.isSummary ? before : null;
}
