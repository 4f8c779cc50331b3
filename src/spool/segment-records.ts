/** Reads the records of a segment, and replaces segments by a summary of their records. */
import { replaceFile } from '../durable-files.ts';
import { Segment } from './segment.ts';
import {
  headerBytes,
  newSegmentSeal,
  readSegment,
  type SpoolKey,
  sealBlock,
  UnusableSegment,
} from './segment-format.ts';

export interface ReadRecords {
  readonly records: readonly Buffer[];
  /** Damage; null for none. */
  readonly fault: string | null;
  /** Whether nothing of the segment can be read. */
  readonly isUnusable: boolean;
  /** Whether another deployment or another build can read it. */
  readonly isForeign: boolean;
}

/** @throws errors of the file system */
export async function readRecords(segment: Segment, key: SpoolKey): Promise<ReadRecords> {
  const usable = { fault: null, isUnusable: false, isForeign: false };
  if (segment.unsaved !== null) return { records: segment.unsaved, ...usable };
  const file = await segment.read();
  // The process died before its first write was complete.
  if (file === null || file.length < headerBytes) return { records: [], ...usable };
  try {
    const { records, damagedBytes } = readSegment(file, key);
    const fault = damagedBytes > 0 ? `${damagedBytes} bytes in it are damaged` : null;
    return { records, ...usable, fault };
  } catch (error) {
    if (!(error instanceof UnusableSegment)) throw error;
    const { message: fault, isForeign } = error;
    return { records: [], fault, isUnusable: true, isForeign };
  }
}

/** Writes a segment in the place of `first` that replaces all from `first` to `last`. */
export async function writeSummary(
  first: Segment,
  last: Segment,
  records: readonly Buffer[],
  key: SpoolKey,
): Promise<Segment> {
  const { stream, directory } = first;
  const { number, createdAtMs } = first.header;
  const header = { number, through: last.header.through, isSummary: true, createdAtMs };
  const seal = newSegmentSeal(header, key);
  const file = Buffer.concat([seal.bytes, ...sealBlock(seal, 0, records)]);
  const state = { bytes: file.length, isOpen: false, isHeld: false };
  const summary = new Segment({ stream, directory, header }, state);
  summary.startAge(first.ageMs);
  try {
    await replaceFile(summary.path, file);
  } catch {
    // A full disk has no room for the summary either; the records must go all the same.
    summary.unsaved = records;
    summary.bytes = 0;
    await first.delete();
  }
  return summary;
}
