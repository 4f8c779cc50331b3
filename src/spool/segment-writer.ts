/** Writes the records of a stream in groups: one block a group, in order, made durable by shared syncs. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Segment } from './segment.ts';
import { createSegmentFile, type SegmentFile } from './segment-file.ts';
import type { SpoolKey } from './segment-format.ts';

/** A record on its way to the disk. */
export interface PendingRecord {
  readonly segment: Segment;
  readonly bytes: Buffer;
  /** Called with null once the record is durable, or with the reason why it is not on disk. */
  readonly settle: ((error: unknown) => void) | null;
}

export interface WriterTerms {
  readonly readKey: () => SpoolKey;
  /** Frees space after a write failed; false when there is nothing to free. */
  readonly freeSpace: (error: unknown) => Promise<boolean>;
  /** Called after each write, with null or the reason why the records are not on disk. */
  readonly onWrite: (records: readonly PendingRecord[], error: unknown) => void;
}

/** Records of one write. */
const groupBytesMax = 256 * 1024;
/** A group is written at the end of the turn, but not sooner than this after the last one. */
const gatherMs = 2;
/** Groups share syncs; a record is durable within this time and the duration of a sync. */
const syncEveryMs = 8;

export class SegmentWriter {
  readonly #terms: WriterTerms;
  #pending: PendingRecord[] = [];
  #pendingBytes = 0;
  #open: SegmentFile | null = null;
  /** Written records that wait for a sync, and the files that contain them. */
  #unsynced: PendingRecord[] = [];
  #writing: Promise<void> | null = null;
  #syncing: Promise<void> | null = null;
  #timer: NodeJS.Immediate | NodeJS.Timeout | null = null;
  #wroteAtMs = Number.NEGATIVE_INFINITY;
  #syncedAtMs = Number.NEGATIVE_INFINITY;

  constructor(terms: WriterTerms) {
    this.#terms = terms;
  }

  /** Bytes that are not on disk yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  add(record: PendingRecord): void {
    this.#pending.push(record);
    this.#pendingBytes += record.bytes.length;
    if (this.#timer !== null || this.#writing !== null) return;
    const sinceMs = performance.now() - this.#wroteAtMs;
    const write = (): void => {
      this.#timer = null;
      this.#write();
    };
    this.#timer = sinceMs >= gatherMs ? setImmediate(write) : setTimeout(write, gatherMs);
  }

  /** Resolves when all records that were added before are durable or reported as failed. */
  async settle(): Promise<void> {
    this.#write();
    await this.#writing;
    await this.#syncing;
  }

  /** No record may be added afterwards. */
  async close(): Promise<void> {
    await this.settle();
    await this.#open?.close();
    this.#open = null;
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#takeGroup();
      this.#wroteAtMs = performance.now();
      const error = await this.#writeGroup(group);
      for (const { segment, bytes } of group) {
        segment.unwritten -= 1;
        segment.unwrittenBytes -= bytes.length;
        this.#pendingBytes -= bytes.length;
      }
      this.#terms.onWrite(group, error);
      if (error === null) {
        this.#unsynced.push(...group);
        this.#sync();
      } else {
        for (const { settle } of group) settle?.(error);
      }
    }
  }

  /** Takes records of one segment. */
  #takeGroup(): PendingRecord[] {
    const [first] = this.#pending;
    let bytes = 0;
    const beyond = this.#pending.findIndex((record) => {
      bytes += record.bytes.length;
      return record !== first && (bytes > groupBytesMax || record.segment !== first?.segment);
    });
    return this.#pending.splice(0, beyond < 0 ? this.#pending.length : beyond);
  }

  /** Returns null, or why the records could not be written. */
  async #writeGroup(group: readonly PendingRecord[]): Promise<unknown> {
    for (;;) {
      try {
        const file = await this.#fileOf(group[0]!.segment);
        await file.append(group.map(({ bytes }) => bytes));
        return null;
      } catch (error) {
        if (!(await this.#terms.freeSpace(error))) return error;
      }
    }
  }

  async #fileOf(segment: Segment): Promise<SegmentFile> {
    const previous = this.#open;
    if (previous?.segment === segment) return previous;
    if (previous !== null) {
      await this.#syncNow();
      await previous.close();
      this.#open = null;
    }
    this.#open = await createSegmentFile(segment, this.#terms.readKey());
    return this.#open;
  }

  /** Starts a sync unless one runs, which is followed by another for what was written meanwhile. */
  #sync(): void {
    this.#syncing ??= this.#syncAll().finally(() => {
      this.#syncing = null;
      if (this.#unsynced.length > 0) this.#sync();
    });
  }

  async #syncAll(): Promise<void> {
    const waitMs = this.#syncedAtMs + syncEveryMs - performance.now();
    if (waitMs > 0) await delay(waitMs);
    await this.#syncNow();
  }

  async #syncNow(): Promise<void> {
    const records = this.#unsynced;
    if (records.length === 0) return;
    this.#unsynced = [];
    this.#syncedAtMs = performance.now();
    try {
      await this.#open!.sync();
      for (const { settle } of records) settle?.(null);
    } catch (error) {
      // They are written, and a process that ends does not lose them; a machine may.
      for (const { settle } of records) settle?.(error);
    }
  }
}
