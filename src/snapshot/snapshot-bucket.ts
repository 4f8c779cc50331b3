/** Keeps the snapshot of the deployment in a bucket, and takes it from there while its origin is away. */
import { monotonicMs } from '../monotonic.ts';
import type { BucketFolder } from './bucket/bucket-files.ts';
import { bucketOrigin } from './bucket/bucket-origin.ts';
import { BucketWriter, type BuildRight } from './bucket/bucket-writer.ts';
import type { SnapshotOrigin } from './reading/snapshot-origin.ts';
import type { SnapshotReader } from './reading/snapshot-reader.ts';
import { RepeatedWork } from './repeated-work.ts';

export interface SnapshotBucketParts {
  readonly folder: BucketFolder;
  readonly reader: SnapshotReader;
  /** Null while this process does not build. */
  readonly buildRight: () => BuildRight | null;
  readonly onFailure: (error: unknown, message: string) => void;
}

const intervalMs = 10_000;

export class SnapshotBucket {
  readonly #parts: SnapshotBucketParts;
  readonly #writer: BucketWriter;
  readonly #origin: SnapshotOrigin;
  readonly #work: RepeatedWork;
  #pulledAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(parts: SnapshotBucketParts) {
    this.#parts = parts;
    this.#writer = new BucketWriter(parts.folder);
    this.#origin = bucketOrigin(parts.folder, () => parts.reader.view()?.builtAtMs ?? 0);
    this.#work = new RepeatedWork(async () => {
      await this.step();
      return intervalMs;
    });
  }

  /** Notes that the origin has responded, so that the bucket is not read. */
  notePulled(): void {
    this.#pulledAtMs = monotonicMs();
  }

  start(): void {
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Saves what this process has built, or reads what another one has. Never rejects. */
  async step(): Promise<void> {
    const { reader, buildRight } = this.#parts;
    const isAway = monotonicMs() - this.#pulledAtMs > intervalMs;
    const right = buildRight();
    try {
      if (isAway) await reader.pullFrom(this.#origin);
      else if (right !== null) await this.#save(right);
      this.#hasFailed = false;
    } catch (error) {
      // Once for as long as it lasts.
      if (!this.#hasFailed) {
        const work = isAway ? 'read from' : 'saved in';
        this.#parts.onFailure(error, `the snapshot could not be ${work} the bucket`);
      }
      this.#hasFailed = true;
    }
  }

  async #save(right: BuildRight): Promise<void> {
    const contents = this.#parts.reader.contents();
    if (contents !== null) await this.#writer.save(contents, right);
  }
}
