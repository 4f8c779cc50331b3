/** Saves updates of the snapshot in the copy of this process, and repeats what failed. */
import type { HeldObject, LiveSnapshot, SnapshotUpdate } from './live-snapshot.ts';
import type { SnapshotCopy } from './snapshot-copy.ts';

export class CopyWriter {
  readonly #copy: SnapshotCopy | null;
  readonly #onUnsaved: (error: unknown) => void;
  /** Whether the copy has everything but the next update. */
  #isSaved = false;

  constructor(copy: SnapshotCopy | null, onUnsaved: (error: unknown) => void) {
    this.#copy = copy;
    this.#onUnsaved = onUnsaved;
  }

  noteSaved(): void {
    this.#isSaved = true;
  }

  noteUnsaved(): void {
    this.#isSaved = false;
  }

  /** Records that newer changes exist than the copy has. Never rejects. */
  async setBehind(): Promise<void> {
    await this.#copy?.setCurrent(false).catch(this.#onUnsaved);
  }

  /** Never rejects; the next call saves what a failed one has not. */
  async save(live: LiveSnapshot, update: SnapshotUpdate | null, isCurrent: boolean): Promise<void> {
    const copy = this.#copy;
    if (copy === null) return;
    try {
      if (update !== null || !this.#isSaved) {
        const changed = this.#isSaved && update !== null ? objectsOfUpdate(update) : null;
        this.#isSaved = await copy.save(live, changed);
        if (!this.#isSaved) return;
      }
      if (isCurrent) await copy.setCurrent(true);
    } catch (error) {
      this.#isSaved = false;
      this.#onUnsaved(error);
    }
  }
}

function* objectsOfUpdate({ head, documents, changed }: SnapshotUpdate): Generator<HeldObject> {
  for (const page of head.pages) {
    const sealed = page && documents.get(page.etag);
    if (page && sealed) yield { organisationId: '', etag: page.etag, sealed };
  }
  for (const { id, entry, manifest, sealed } of changed) {
    const bytes = documents.get(entry.etag);
    if (bytes !== undefined) yield { organisationId: id, etag: entry.etag, sealed: bytes };
    for (const [at, { etag }] of manifest.parts.entries()) {
      yield { organisationId: id, etag, sealed: sealed[at]! };
    }
  }
}
