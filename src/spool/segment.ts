/** A segment of a stream: where its file is, how much it holds, and how much of it is still to be delivered. */
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SegmentHeader } from './segment-format.ts';

/** Records belong to the segment that they were appended to; it is deleted when all are released. */
export class Segment {
  readonly stream: string;
  readonly directory: string;
  readonly header: SegmentHeader;
  /** Bytes of the file. */
  bytes: number;
  /** Records that are not released; 0 until the segment of another process is loaded. */
  remaining = 0;
  /** Records that are not on disk yet. */
  unwritten = 0;
  unwrittenBytes = 0;
  /** Whether records may still be appended. */
  isOpen: boolean;
  /** Whether the owner of the stream has the records in memory. */
  isHeld: boolean;
  isDeleted = false;
  /** Whether the disk has refused held records of it, which only their owner has. */
  isIncomplete = false;
  /** Whether it is being read for its owner. */
  isLoading = false;
  /** Monotonic time since which it has records to deliver. */
  #sinceMs = performance.now();
  /** Records of a summary that could not be written; null for a segment with a file. */
  unsaved: readonly Buffer[] | null = null;

  constructor(
    place: Pick<Segment, 'stream' | 'directory' | 'header'>,
    { bytes, isOpen, isHeld }: Pick<Segment, 'bytes' | 'isOpen' | 'isHeld'>,
  ) {
    this.stream = place.stream;
    this.directory = place.directory;
    this.header = place.header;
    this.bytes = bytes;
    this.isOpen = isOpen;
    this.isHeld = isHeld;
  }

  /** Its records have waited for this long already. A clock that was set back counts as no wait. */
  startAge(ms: number): void {
    this.#sinceMs = performance.now() - Math.max(0, ms);
  }

  /** Milliseconds since its oldest record was appended, unaffected by changes to the system time. */
  get ageMs(): number {
    return performance.now() - this.#sinceMs;
  }

  /** Whether there is something to deliver. */
  get isWaiting(): boolean {
    return this.remaining > 0 || !(this.isHeld || this.isOpen);
  }

  get path(): string {
    return join(this.directory, fileNameOf(this.stream, this.header.number));
  }

  /** Null when no write of it has succeeded. */
  async read(): Promise<Buffer | null> {
    try {
      return await readFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return null;
    }
  }

  async delete(): Promise<void> {
    await rm(this.path, { force: true });
  }

  /** Keeps a file that cannot be read for an operator, out of the way of every replay. */
  async setAside(): Promise<void> {
    await rename(this.path, `${this.path}.damaged`);
  }
}

const numberDigits = 10;
const fileName = /^([a-z][a-z0-9-]*)\.(\d{10})$/;

function fileNameOf(stream: string, number: number): string {
  return `${stream}.${String(number).padStart(numberDigits, '0')}`;
}

/** Null for a file that is not a segment. */
export function parseFileName(
  name: string,
): { readonly stream: string; readonly number: number } | null {
  const [, stream, number] = fileName.exec(name) ?? [];
  return stream === undefined ? null : { stream, number: Number(number) };
}
