/** Keeps the newest snapshot in memory and in files: loads it at the start, and pulls what changes. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { Clock } from '../../clock.ts';
import type { SnapshotSource } from '../../store/reads/snapshot-view.ts';
import { etagOf } from '../format/sealed-object.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { AgeLimit } from './age-limit.ts';
import { CopyWriter } from './copy-writer.ts';
import { HeldSnapshot } from './held-snapshot.ts';
import {
  type LiveSnapshot,
  type SnapshotContents,
  type SnapshotUpdate,
  snapshotContents,
} from './live-snapshot.ts';
import type { SnapshotCopy } from './snapshot-copy.ts';
import type { SnapshotOrigin } from './snapshot-origin.ts';

export interface SnapshotReaderOptions {
  readonly masterKeys: Pick<MasterKeys, 'unwrap'>;
  /** Null for a reader that only has its files. */
  readonly origin: SnapshotOrigin | null;
  /** The copy of this process; null for none. */
  readonly copy: SnapshotCopy | null;
  /** Older snapshots are not used; null for no limit. */
  readonly maxAgeMs: number | null;
  readonly clock: Clock;
  /** Reports a snapshot, or an organisation of it, that is not used. */
  readonly onRefused: (refused: SnapshotRefused) => void;
  /** Reports that the copy could not be written; the previous one stays. */
  readonly onUnsaved: (error: unknown) => void;
  /** Receives the time of each change that a pull takes over. */
  readonly onChangeInForce: ((changedAtMs: number) => void) | null;
}

export class SnapshotReader implements SnapshotSource {
  readonly #options: SnapshotReaderOptions;
  readonly #listeners: ((organisationIds: readonly string[]) => void)[] = [];
  readonly #copy: CopyWriter;
  readonly #age: AgeLimit;
  readonly #held: HeldSnapshot;
  #isCurrent = false;
  #confirmedAtMs: number | null = null;
  /** Ends when the previous pull has ended: two of them would mix their updates. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
    this.#copy = new CopyWriter(options.copy, options.onUnsaved);
    this.#age = new AgeLimit(options);
    this.#held = new HeldSnapshot({
      ...options,
      age: this.#age,
      onReplaced: () => this.#copy.noteUnsaved(),
    });
  }

  get #live(): LiveSnapshot | null {
    return this.#held.live;
  }

  view(): LiveSnapshot | null {
    return this.#live === null || this.#age.isExceeded(this.#confirmedAtMs) ? null : this.#live;
  }

  isCurrent(): boolean {
    return this.#isCurrent;
  }

  confirmedAtMs(): number | null {
    return this.#confirmedAtMs;
  }

  onChange(listener: (organisationIds: readonly string[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Organisations and values of API keys that are held, for metrics. */
  figures(): { readonly organisations: number; readonly keys: number } | null {
    const live = this.#live;
    return live && { organisations: [...live.organisationIds()].length, keys: live.keyCount };
  }

  /** Etags of the objects of an organisation, in base64url. */
  objectEtags(organisationId: string): string[] {
    const contents = this.#live?.contents(organisationId);
    return contents === undefined
      ? []
      : [contents.entry.etag, ...contents.manifest.parts.map(({ etag }) => etag)];
  }

  /** Uses the copy of this process until a newer snapshot is pulled. False, and reported, when there is none to use. */
  async load(): Promise<boolean> {
    const { copy, onRefused } = this.#options;
    if (copy === null || this.#live !== null) return this.#live !== null;
    try {
      const found = await copy.load();
      if (found === null) return false;
      const update = await this.#held.open(found);
      this.#isCurrent = found.wasCurrent && update.head.isSettled;
      this.#confirmedAtMs = update.head.builtAtMs;
      this.#copy.noteSaved();
      this.#notify(update);
      return true;
    } catch (error) {
      if (!(error instanceof SnapshotRefused)) throw error;
      onRefused(error);
      return false;
    }
  }

  /**
   * Asks the origin for the newest snapshot, and takes over what differs. Returns whether anything did.
   *
   * @throws SnapshotRefused, and what the origin throws; the held snapshot stays
   */
  async pull(): Promise<boolean> {
    const { origin } = this.#options;
    return origin !== null && this.#inTurn(() => this.#pull(origin));
  }

  /**
   * Takes over a snapshot that is newer than the held one, from an origin that cannot say whether it is the newest.
   * Returns whether there was one.
   *
   * @throws SnapshotRefused, and what the origin throws; the held snapshot stays
   */
  pullFrom(origin: SnapshotOrigin): Promise<boolean> {
    return this.#inTurn(async () => {
      const { sealedHead } = await origin.readState(null);
      if (sealedHead === null) return false;
      const wasCurrent = this.#live === null || this.#isCurrent;
      const update = await this.#held.take(sealedHead, origin);
      const live = this.#live!;
      const confirmedAtMs = Math.max(this.#confirmedAtMs ?? 0, live.builtAtMs);
      this.#isCurrent =
        live.head.isSettled && live.isWhole && (wasCurrent || confirmedAtMs === live.builtAtMs);
      this.#confirmedAtMs = confirmedAtMs;
      this.#age.noteConfirmed();
      this.#notify(update);
      await this.#copy.save(live, update, this.#isCurrent);
      return true;
    });
  }

  /** The held snapshot, for a copy elsewhere; null when there is none, or not a whole one. */
  contents(): SnapshotContents | null {
    return this.#live?.isWhole ? snapshotContents(this.#live) : null;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #pull(origin: SnapshotOrigin): Promise<boolean> {
    const known = this.#live && etagOf(this.#live.sealedHead);
    const state = await origin.readState(known);
    if (!state.exists) {
      this.#isCurrent = false;
      return false;
    }
    // A change is known that the held snapshot lacks, until all of it is taken over.
    if (state.sealedHead !== null || state.hasPending) {
      this.#isCurrent = false;
      await this.#copy.setBehind();
    }
    const update =
      state.sealedHead === null ? null : await this.#held.take(state.sealedHead, origin);
    const { head } = this.#live!;
    this.#isCurrent = head.isSettled && !state.hasPending && this.#live!.isWhole;
    this.#confirmedAtMs = state.confirmedAtMs ?? head.builtAtMs;
    this.#age.noteConfirmed();
    if (update !== null) this.#notify(update);
    await this.#copy.save(this.#live!, update, this.#isCurrent);
    return update !== null;
  }

  #notify({ changed, removed, damaged }: SnapshotUpdate): void {
    const ids = [...changed.map(({ id }) => id), ...removed, ...damaged];
    for (const listener of this.#listeners) listener(ids);
  }
}
