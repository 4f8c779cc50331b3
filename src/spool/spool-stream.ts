/** A stream of the spool: appends records, hands out what is not in memory, and deletes what was released. */
import type { Segment } from './segment.ts';
import { recordOverheadBytes } from './segment-format.ts';
import type { SegmentList } from './segment-list.ts';
import type { SegmentWriter } from './segment-writer.ts';

export interface StreamTerms {
  /** Lower-case letters, digits and dashes; part of the names of files. */
  readonly name: string;
  /** Null for a stream whose records are never dropped: appends are refused instead. */
  readonly dropping: DroppingTerms | null;
  /**
   * Called when {@link SpoolStream.load} hands out all records that dead processes have left: once the spool is open,
   * even if there are none, and when more were found.
   */
  readonly onReadable: () => void;
}

/** How a stream gives up its oldest records when the spool is full. */
interface DroppingTerms {
  /** Whether the records of the segment may be dropped now; a segment that is being delivered may not. */
  readonly mayDrop: (segment: SegmentPlace) => boolean;
  /**
   * Returns records that replace dropped ones, such as their counts. `records` includes earlier summaries. Records
   * of a held segment are not among them: the owner forgets those that it has not released.
   */
  readonly summarise: (records: readonly Buffer[], held: SegmentPlace | null) => readonly Buffer[];
  /** Records of {@link SpoolStream.push} that could not be written and that their owner does not hold. */
  readonly onFailure: (records: readonly Buffer[], error: unknown) => void;
}

/** Identifies the segment of a record; for {@link SpoolStream.release}. */
export type SegmentPlace = Segment;

export interface PushOptions {
  /** Whether the caller keeps the record in memory, so that it is handed out only after a restart. */
  readonly isHeld: boolean;
}

/** Records of one segment, in the order of appending. */
export interface LoadedRecords {
  readonly place: SegmentPlace;
  readonly records: readonly Buffer[];
}

/** The files of a stream, and its share of the bound. */
export interface StreamParts {
  readonly terms: StreamTerms;
  readonly list: SegmentList;
  readonly writer: SegmentWriter;
  /** Throws SpoolRefusal when the bytes do not fit. */
  readonly reserve: (bytes: number) => void;
  /** Waits until they fit, as far as dropping can help. */
  readonly reserveWaiting: (bytes: number) => Promise<void>;
}

export class SpoolStream {
  readonly #parts: StreamParts;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /**
   * Appends a record that its caller does not hold. Resolves when it is durable. A rejected record may still be on
   * disk, if only making it durable failed. @throws SpoolRefusal and errors of the file system
   */
  async append(bytes: Buffer): Promise<void> {
    await this.#parts.reserveWaiting(bytes.length + recordOverheadBytes);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#add(bytes, false, (error) => (error === null ? resolve() : reject(error)));
    await promise;
  }

  /** Appends a record and returns at once; it is written within milliseconds. @throws SpoolRefusal */
  push(bytes: Buffer, { isHeld }: PushOptions): SegmentPlace {
    this.#parts.reserve(bytes.length + recordOverheadBytes);
    return this.#add(bytes, isHeld, null);
  }

  #add(bytes: Buffer, isHeld: boolean, settle: ((error: unknown) => void) | null): SegmentPlace {
    const { list, writer } = this.#parts;
    const segment = list.current(isHeld);
    if (segment.remaining === 0) segment.startAge(0);
    segment.remaining += 1;
    segment.unwritten += 1;
    segment.unwrittenBytes += bytes.length;
    writer.add({ segment, bytes, settle });
    return segment;
  }

  /** Loads the oldest segment that its owner does not hold; null when there is none. The owner holds it then. */
  async load(): Promise<LoadedRecords | null> {
    const { list, writer } = this.#parts;
    for (;;) {
      const segment = list.oldestUnheld();
      if (segment === null) return null;
      const records = await list.load(segment, () => writer.settle());
      if (records.length > 0) return { place: segment, records };
    }
  }

  /** Whether {@link load} has something to hand out. */
  get hasUnheld(): boolean {
    return this.#parts.list.oldestUnheld() !== null;
  }

  /** Gives up delivered records of a segment; it is deleted with the last one. */
  release(place: SegmentPlace, count: number): void {
    place.remaining -= count;
    this.#parts.list.deleteIfDone(place);
  }

  /** Resolves when everything that was appended is durable or reported as failed. */
  settle(): Promise<void> {
    return this.#parts.writer.settle();
  }
}
