/** Finds the segments that a dead process left in its folder. */
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { partSuffix } from '../durable-files.ts';
import { parseFileName, Segment } from './segment.ts';
import { headerBytes, parseHeader, type SegmentHeader, UnusableSegment } from './segment-format.ts';
import type { SegmentDamage } from './segment-list.ts';

/** Segments in the order of appending, by stream. Deletes what an interrupted change has left over. */
export async function findSegments(
  directory: string,
  now: number,
  onDamage: (damage: SegmentDamage) => void,
): Promise<Map<string, Segment[]>> {
  const found = new Map<string, Segment[]>();
  for (const name of (await readdir(directory)).sort()) {
    const path = join(directory, name);
    if (name.endsWith(partSuffix)) await rm(path, { force: true });
    const parsed = parseFileName(name);
    if (parsed === null) continue;
    const { stream, number } = parsed;
    const before = found.get(stream) ?? [];
    const { header, bytes } = await readHeader(path, number, now, onDamage);
    if (isReplaced(header, before.at(-1)?.header)) {
      await rm(path, { force: true });
      continue;
    }
    const state = { bytes, isOpen: false, isHeld: false };
    const segment = new Segment({ stream, directory, header }, state);
    segment.startAge(now - header.createdAtMs);
    found.set(stream, [...before, segment]);
  }
  return found;
}

/** Whether a summary contains what the segment contains. */
function isReplaced({ number }: SegmentHeader, before: SegmentHeader | undefined): boolean {
  return before?.isSummary === true && before.through >= number;
}

/** A segment whose header is damaged is reported when it is loaded. */
async function readHeader(
  path: string,
  number: number,
  now: number,
  onDamage: (damage: SegmentDamage) => void,
): Promise<{ readonly header: SegmentHeader; readonly bytes: number }> {
  const file = await open(path, 'r');
  try {
    const { size: bytes } = await file.stat();
    const head = Buffer.alloc(Math.min(headerBytes, bytes));
    await file.read(head, 0, head.length, 0);
    try {
      const header = parseHeader(head);
      if (header.number !== number) {
        onDamage({ path, reason: `its name says ${number}, its header ${header.number}` });
      }
      return { header: { ...header, number }, bytes };
    } catch (error) {
      if (!(error instanceof UnusableSegment)) throw error;
      return { header: { number, through: number, isSummary: false, createdAtMs: now }, bytes };
    }
  } finally {
    await file.close();
  }
}
