/** Keeps records of several streams on disk until they are delivered, within a bound of bytes. */
import { detach } from '../detached.ts';
import { Failure } from '../failure.ts';
import { findSegments } from './adopted-segments.ts';
import type { Segment } from './segment.ts';
import { type SpoolKey, spoolKey } from './segment-format.ts';
import { type SegmentDamage, SegmentList } from './segment-list.ts';
import { type PendingRecord, SegmentWriter } from './segment-writer.ts';
import { SpoolBudget } from './spool-budget.ts';
import { isDiskFull, SpoolRefusal, spoolReason } from './spool-error.ts';
import { SpoolFolders } from './spool-folders.ts';
import { SpoolStream, type StreamTerms } from './spool-stream.ts';

export interface SpoolTerms {
  /** Folder of all spools; each process has a subfolder. */
  readonly directory: string;
  readonly bytesMax: number;
  /** Returns 32 bytes; called when the first record is written or read. */
  readonly readKey: () => Buffer;
  /** Milliseconds since the epoch, for the age of records that other processes left. */
  readonly now: () => number;
  readonly onDamage: (damage: SegmentDamage) => void;
  /** Segments are closed from this size on; by default a part of `bytesMax`. */
  readonly segmentBytes?: number;
  /** Interval between searches for folders of dead processes. */
  readonly adoptEveryMs?: number;
}

export interface SpoolFigures {
  readonly bytes: number;
  readonly bytesMax: number;
  /** Records that are not delivered, as far as they have been read. */
  readonly records: number;
  /** Milliseconds since the oldest of them was appended; 0 for none. */
  readonly oldestMs: number;
  /** Records that were dropped because the spool was full. */
  readonly dropped: number;
  /** Records that were not taken. */
  readonly refused: number;
  /** Segments with damage. */
  readonly damaged: number;
  /** Why the disk does not take records at present; null if it does. */
  readonly fault: string | null;
}

const segmentBytesMax = 4 * 1024 * 1024;
const segmentsMin = 32;
const adoptEveryMsUsual = 30_000;

interface StreamState {
  readonly terms: StreamTerms;
  readonly list: SegmentList;
  readonly writer: SegmentWriter;
}

/** Streams are registered before {@link open}. */
export class Spool implements AsyncDisposable {
  readonly #terms: SpoolTerms;
  readonly #streams = new Map<string, StreamState>();
  readonly #budget: SpoolBudget;
  readonly #folders: SpoolFolders;
  #key: SpoolKey | null = null;
  #damaged = 0;
  #timer: NodeJS.Timeout | null = null;
  #adopting: Promise<void> | null = null;

  constructor(terms: SpoolTerms) {
    this.#terms = terms;
    const { bytesMax } = terms;
    this.#budget = new SpoolBudget(bytesMax, this.#segmentBytes, this.#streams);
    this.#folders = new SpoolFolders(terms.directory, (directory) => this.#adopt(directory));
  }

  get #segmentBytes(): number {
    const { bytesMax, segmentBytes } = this.#terms;
    return segmentBytes ?? Math.min(segmentBytesMax, Math.floor(bytesMax / segmentsMin));
  }

  stream(terms: StreamTerms): SpoolStream {
    const { name: stream, dropping } = terms;
    const { now } = this.#terms;
    const readKey = (): SpoolKey => (this.#key ??= spoolKey(this.#terms.readKey()));
    const list = new SegmentList({
      stream,
      directory: () => this.#requireOwn(),
      segmentBytes: this.#segmentBytes,
      readKey,
      now,
      onDamage: (damage) => this.#noteDamage(damage),
      onChange: () => this.#budget.recount(),
      onDelete: (segment) => this.#removeIfEmpty(segment),
    });
    const writer = new SegmentWriter({
      readKey,
      freeSpace: async (error) => isDiskFull(error) && (await this.#budget.dropOldest()),
      onWrite: (records, error) => {
        this.#budget.fault = error === null ? null : spoolReason(error);
        if (error !== null) giveUpRecords(records, error, dropping);
        this.#budget.recount();
        this.#budget.keepRoom();
        for (const segment of new Set(records.map((record) => record.segment))) {
          list.deleteIfDone(segment);
        }
      },
    });
    this.#streams.set(stream, { terms, list, writer });
    return new SpoolStream({
      terms,
      list,
      writer,
      reserve: (bytes) => {
        this.#requireOwn();
        this.#budget.reserve(bytes);
      },
      reserveWaiting: async (bytes) => {
        this.#requireOwn();
        await this.#budget.reserveWaiting(bytes);
      },
    });
  }

  /**
   * Creates the folder of this process and takes over those of dead ones. A full disk does not prevent the start:
   * records are refused until there is room. @throws Failure when the folder cannot be used
   */
  async open(): Promise<void> {
    if (this.#timer !== null) return;
    await this.#tryOpen();
    const everyMs = this.#terms.adoptEveryMs ?? adoptEveryMsUsual;
    this.#timer = setInterval(() => {
      this.#adopting ??= this.#tryOpen().finally(() => {
        this.#adopting = null;
      });
      detach('the search for spools of dead processes', this.#adopting);
    }, everyMs).unref();
  }

  async #tryOpen(): Promise<void> {
    try {
      const isReplaced = await this.#folders.open();
      for (const { list } of this.#streams.values()) await list.refresh(isReplaced);
      const isFirst = await this.#folders.takeOver();
      if (isFirst) for (const { terms } of this.#streams.values()) terms.onReadable();
    } catch (error) {
      const reason = spoolReason(error);
      this.#budget.fault = reason;
      if (this.#timer !== null || isDiskFull(error)) return;
      throw unusable(this.#terms.directory, reason, error);
    }
  }

  /** Adds what a dead process left; returns whether there is anything. */
  async #adopt(directory: string): Promise<boolean> {
    const found = await findSegments(directory, this.#terms.now(), (damage) =>
      this.#noteDamage(damage),
    );
    for (const [name, segments] of found) {
      const stream = this.#streams.get(name);
      stream?.list.adopt(segments);
      if (this.#folders.isSearched) stream?.terms.onReadable();
    }
    this.#budget.recount();
    return found.size > 0;
  }

  #removeIfEmpty({ directory }: Segment): void {
    const lists = [...this.#streams.values()].flatMap(({ list }) => list.all);
    if (lists.some((one) => one.directory === directory)) return;
    detach('removing the folder of a dead process', this.#folders.removeAdopted(directory));
  }

  #requireOwn(): string {
    const own = this.#folders.ownPath;
    if (own !== null) return own;
    throw new SpoolRefusal(`The spool is not open: ${this.#budget.fault ?? 'it was not opened'}`);
  }

  #noteDamage(damage: SegmentDamage): void {
    this.#damaged += 1;
    this.#terms.onDamage(damage);
  }

  figures(): SpoolFigures {
    const { used, dropped, refused, fault, records, oldestMs } = this.#budget;
    const { bytesMax } = this.#terms;
    const damaged = this.#damaged;
    return { bytes: used, bytesMax, records, oldestMs, dropped, refused, damaged, fault };
  }

  /** Writes what was appended. Records that are not delivered stay for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#adopting;
    await this.#budget.close();
    for (const { list, writer } of this.#streams.values()) {
      await writer.close();
      await list.close();
    }
    this.#budget.fault = 'the process is ending';
    await this.#folders.close();
  }
}

function unusable(directory: string, reason: string, cause: unknown): Failure {
  return new Failure(
    'invalidInput',
    `The folder of the spool, GATEWRIGHT_SPOOL_DIRECTORY, cannot be used: ${reason} (${directory}). ` +
      'Create it, writable for this user, or unset the setting to keep waiting records in memory',
    { cause },
  );
}

/** Held records stay with their owner; those of an append are reported to its caller. */
function giveUpRecords(
  records: readonly PendingRecord[],
  error: unknown,
  dropping: StreamTerms['dropping'],
): void {
  const unheld = records.filter(({ segment }) => !segment.isHeld);
  for (const { segment } of records) segment.isIncomplete ||= segment.isHeld;
  for (const { segment } of unheld) segment.remaining -= 1;
  const lost = unheld.filter(({ settle }) => settle === null).map(({ bytes }) => bytes);
  if (lost.length > 0) dropping?.onFailure(lost, error);
}
