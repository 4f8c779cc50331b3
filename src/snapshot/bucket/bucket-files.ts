/** Names the files of snapshots in a bucket, where no file is ever replaced, and reads them. */
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { decodeIndex, type PackIndex } from '../reading/pack-file.ts';
import type { FileStore } from '../reading/snapshot-files.ts';

/** The folder of a bucket that has the files of the snapshot. */
export interface BucketFolder extends AsyncDisposable {
  /** For errors: `the bucket gatewright`. */
  readonly description: string;
  /** Bytes of all files by name. */
  list(): Promise<ReadonlyMap<string, number>>;
  /** Null when there is no such file. */
  read(name: string, bytes: number): Promise<Buffer | null>;
  /** Writes a file whose name is unused. */
  write(name: string, bytes: Buffer): Promise<void>;
  /** Succeeds when there is no such file. */
  delete(name: string): Promise<void>;
}

/** The head of a snapshot in a bucket. */
export interface BucketHead extends PackIndex {
  readonly name: string;
}

const headPattern = /^head-([0-9]{15})-([0-9]{10})$/;
const packPattern = /^pack-[0-9]+-[0-9a-f]{8}$/;

/** Later heads have greater names. The fence tells apart two processes that both save the same head. */
export function headName(builtAtMs: number, fence: number): string {
  return `head-${String(builtAtMs).padStart(15, '0')}-${String(fence).padStart(10, '0')}`;
}

/** A file of a snapshot, in contrast to a file that somebody else has placed there. */
export function isSnapshotFile(name: string): boolean {
  return headPattern.test(name) || packPattern.test(name);
}

/**
 * Finds the newest head whose packs all exist: a process that saved after another one had taken its place may have
 * left a head without packs. Null when there is no head that was built after `afterMs`.
 *
 * @throws SnapshotRefused for one that is damaged, and when packs of all such heads are missing or truncated
 */
export async function findHead(folder: BucketFolder, afterMs: number): Promise<BucketHead | null> {
  const files = await folder.list();
  const names = [...files.keys()].filter((name) => builtAtMsOf(name) > afterMs).toSorted();
  for (const name of names.toReversed()) {
    const bytes = await folder.read(name, files.get(name)!);
    if (bytes === null) continue;
    const index = decodeIndex(bytes, `the file ${name} in ${folder.description}`);
    if (index.packs.every((pack) => files.get(pack.name) === pack.bytes)) return { name, ...index };
  }
  if (names.length === 0) return null;
  throw new SnapshotRefused('torn', `a pack is missing or truncated in ${folder.description}`);
}

function builtAtMsOf(name: string): number {
  return Number(headPattern.exec(name)?.[1] ?? -1);
}

/** Nothing is deleted during a save: files that the new head does not name are collected after it. */
export function writtenFiles(folder: BucketFolder): FileStore {
  return {
    description: folder.description,
    read: async () => null,
    write: (name, bytes) => folder.write(name, bytes),
    delete: async () => undefined,
  };
}
