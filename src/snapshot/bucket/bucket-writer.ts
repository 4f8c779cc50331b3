/** Saves the snapshot in a bucket, in the one process that builds it. */
import { monotonicMs } from '../../monotonic.ts';
import { readDeployment } from '../format/snapshot-documents.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import type { SnapshotContents } from '../reading/live-snapshot.ts';
import { SnapshotFiles } from '../reading/snapshot-files.ts';
import {
  type BucketFolder,
  findHead,
  headName,
  isSnapshotFile,
  writtenFiles,
} from './bucket-files.ts';

/** The right of this process to build. */
export interface BuildRight {
  /** Differs from that of every earlier and later builder. */
  readonly fence: number;
  /** Extends the right; false when another process builds. */
  confirm(): Promise<boolean>;
}

/** Shorter than the lease of the builder. */
const confirmedForMs = 5_000;

/**
 * A process that lost the right to build cannot harm the snapshot of its successor: names are never used twice, files
 * are deleted by the builder only, and the newest head whose packs all exist counts. A missing pack is noticed by the
 * next save, which then writes everything.
 */
export class BucketWriter {
  readonly #folder: BucketFolder;
  #fence: number | null = null;
  #files: SnapshotFiles;
  #savedHead: Buffer | null = null;

  constructor(folder: BucketFolder) {
    this.#folder = folder;
    this.#files = this.#newFiles(0);
  }

  /** False when the bucket has this snapshot already. @throws SnapshotRefused when it has one of another deployment */
  async save(contents: SnapshotContents, right: BuildRight): Promise<boolean> {
    if (right.fence !== this.#fence) await this.#begin(contents, right);
    if (this.#savedHead?.equals(contents.sealedHead)) return false;
    const before = await this.#folder.list();
    if ([...this.#files.packNames].some((name) => !before.has(name))) {
      this.#files = this.#newFiles(right.fence);
    }
    await this.#files.save(contents, null);
    this.#savedHead = contents.sealedHead;
    const head = headName(contents.builtAtMs, right.fence);
    await this.#collect(new Set([head, ...this.#files.packNames]), right);
    return true;
  }

  async #begin(contents: SnapshotContents, right: BuildRight): Promise<void> {
    this.#fence = null;
    const found = await findHead(this.#folder, 0).catch((error: unknown) => {
      // A damaged one is replaced.
      if (error instanceof SnapshotRefused) return null;
      throw error;
    });
    if (found !== null)
      requireSame(readDeployment(found.sealedHead).deploymentId, contents.deploymentId);
    this.#files = this.#newFiles(right.fence);
    this.#savedHead = null;
    this.#fence = right.fence;
  }

  #newFiles(fence: number): SnapshotFiles {
    return new SnapshotFiles(writtenFiles(this.#folder), ({ builtAtMs }) =>
      headName(builtAtMs, fence),
    );
  }

  /** Deletes the files that the newest head does not name, of this process and of earlier ones. */
  async #collect(named: ReadonlySet<string>, right: BuildRight): Promise<void> {
    let confirmedAtMs = Number.NEGATIVE_INFINITY;
    for (const name of (await this.#folder.list()).keys()) {
      if (named.has(name) || !isSnapshotFile(name)) continue;
      if (monotonicMs() - confirmedAtMs > confirmedForMs) {
        const beforeMs = monotonicMs();
        if (!(await right.confirm())) return;
        confirmedAtMs = beforeMs;
      }
      await this.#folder.delete(name);
    }
  }
}

/** @throws SnapshotRefused */
function requireSame(found: string, own: string): void {
  if (found === own) return;
  throw new SnapshotRefused(
    'foreign',
    `the bucket has one of ${found}, and this process is of ${own}: give each deployment a GATEWRIGHT_BLOB_S3_PREFIX of its own`,
  );
}
