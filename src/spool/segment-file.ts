/** Writes the file of a segment: whole blocks only, also when a write fails. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { syncFolder } from '../durable-files.ts';
import type { Segment } from './segment.ts';
import { newSegmentSeal, type SegmentSeal, type SpoolKey, sealBlock } from './segment-format.ts';

export async function createSegmentFile(segment: Segment, key: SpoolKey): Promise<SegmentFile> {
  // Left by a process that could not write to it.
  await rm(segment.path, { force: true });
  const file = await open(segment.path, 'wx', 0o600);
  return new SegmentFile(segment, file, newSegmentSeal(segment.header, key));
}

export class SegmentFile {
  readonly segment: Segment;
  readonly #file: FileHandle;
  readonly #seal: SegmentSeal;
  /** Bytes of whole blocks, with the header. */
  #end = 0;
  /** Counts failed writes too, because a number must never seal two blocks. */
  #blocks = 0;
  #isNew = true;

  constructor(segment: Segment, file: FileHandle, seal: SegmentSeal) {
    this.segment = segment;
    this.#file = file;
    this.#seal = seal;
  }

  /** Appends a block with these records. */
  async append(records: readonly Buffer[]): Promise<void> {
    const block = sealBlock(this.#seal, this.#blocks, records);
    this.#blocks += 1;
    const parts = this.#end === 0 ? [this.#seal.bytes, ...block] : block;
    try {
      this.#end += await this.#write(parts);
    } catch (error) {
      // Later blocks would follow an incomplete one.
      await this.#file.truncate(this.#end);
      throw error;
    }
    this.segment.bytes = this.#end;
  }

  /** Returns the number of bytes. A single write may be partial. */
  async #write(parts: readonly Buffer[]): Promise<number> {
    let at = 0;
    let rest: readonly Buffer[] = parts.filter(({ length }) => length > 0);
    while (rest.length > 0) {
      const { bytesWritten } = await this.#file.writev(rest, this.#end + at);
      at += bytesWritten;
      rest = partsFrom(rest, bytesWritten);
    }
    return at;
  }

  /** Makes the blocks durable, and the name of a new file. */
  async sync(): Promise<void> {
    await this.#file.datasync();
    if (this.#isNew) await syncFolder(this.segment.directory);
    this.#isNew = false;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The parts after the first `bytes` bytes. */
function partsFrom(parts: readonly Buffer[], bytes: number): Buffer[] {
  let written = bytes;
  return parts.flatMap((part) => {
    const skipped = Math.min(written, part.length);
    written -= skipped;
    return skipped === part.length ? [] : [part.subarray(skipped)];
  });
}
