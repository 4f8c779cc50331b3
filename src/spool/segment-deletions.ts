/** Deletes the files of delivered segments, and again later those that the disk did not let go. */
import { detach } from '../detached.ts';
import type { Segment } from './segment.ts';

export class SegmentDeletions {
  readonly #onDelete: (segment: Segment) => void;
  readonly #running = new Set<Promise<void>>();
  /** Segments whose deletion has failed, such as on a disk that is read-only for now. */
  readonly #failed = new Set<Segment>();

  /** `onDelete` is called when the file of a segment is gone. */
  constructor(onDelete: (segment: Segment) => void) {
    this.#onDelete = onDelete;
  }

  start(segment: Segment): void {
    const deletion = this.#delete(segment);
    this.#running.add(deletion);
    const forget = deletion.finally(() => this.#running.delete(deletion));
    detach('deleting a delivered segment of the spool', forget);
  }

  async #delete(segment: Segment): Promise<void> {
    try {
      await segment.delete();
    } catch {
      this.#failed.add(segment);
      return;
    }
    this.#onDelete(segment);
  }

  /** Resolves when each file whose deletion has failed is gone, or has failed again. */
  async repeat(): Promise<void> {
    const segments = [...this.#failed];
    this.#failed.clear();
    await Promise.all(segments.map((segment) => this.#delete(segment)));
  }

  /** Resolves when the files are gone, as far as the disk lets them go. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
    await this.repeat();
  }
}
