/** Keeps the newest snapshot in memory and in files: loads it at the start, and pulls what changes. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { Clock } from '../../clock.ts';
import type { SnapshotSource, SnapshotView } from '../../store/reads/snapshot-view.ts';
import { foreignSnapshot, keysOfHead } from '../format/head-keys.ts';
import { etagOf } from '../format/sealed-object.ts';
import { openHead, readDeployment } from '../format/snapshot-documents.ts';
import { openSnapshotKeys, type SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { AgeLimit } from './age-limit.ts';
import { CopyWriter } from './copy-writer.ts';
import { DecodedParts } from './decoded-parts.ts';
import { LiveSnapshot, type SnapshotUpdate } from './live-snapshot.ts';
import { type FetchObjects, readUpdate } from './read-update.ts';
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
}

const decodedBytesMax = 64 * 1024 * 1024;

export class SnapshotReader implements SnapshotSource {
  readonly #options: SnapshotReaderOptions;
  readonly #listeners: ((organisationIds: readonly string[]) => void)[] = [];
  readonly #copy: CopyWriter;
  readonly #age: AgeLimit;
  #decoded = new DecodedParts(decodedBytesMax);
  #live: LiveSnapshot | null = null;
  #isCurrent = false;
  #confirmedAtMs: number | null = null;

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
    this.#copy = new CopyWriter(options.copy, options.onUnsaved);
    this.#age = new AgeLimit(options);
  }

  view(): SnapshotView | null {
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
    const { copy, masterKeys, onRefused } = this.#options;
    if (copy === null || this.#live !== null) return this.#live !== null;
    try {
      const found = await copy.load();
      if (found === null) return false;
      const keys = openSnapshotKeys(masterKeys, readDeployment(found.sealedHead).deploymentKey);
      const { builtAtMs } = openHead(keys, found.sealedHead);
      this.#age.require(builtAtMs);
      const update = await this.#read(keys, found.sealedHead, found.fetch, (refused) => {
        onRefused(refused);
      });
      this.#live = new LiveSnapshot(keys, update);
      this.#isCurrent = found.wasCurrent && update.head.isSettled;
      this.#confirmedAtMs = builtAtMs;
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
    if (origin === null) return false;
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
      state.sealedHead === null
        ? null
        : await this.#take(state.sealedHead, (addresses) => origin.readObjects(addresses));
    const { head } = this.#live!;
    this.#isCurrent = head.isSettled && !state.hasPending && this.#live!.isWhole;
    this.#confirmedAtMs = state.confirmedAtMs ?? head.builtAtMs;
    this.#age.noteConfirmed();
    if (update !== null) this.#notify(update);
    await this.#copy.save(this.#live!, update, this.#isCurrent);
    return update !== null;
  }

  /** @throws SnapshotRefused */
  async #take(sealedHead: Buffer, fetch: FetchObjects): Promise<SnapshotUpdate> {
    const keys = this.#keysFor(sealedHead);
    const { builtAtMs } = openHead(keys, sealedHead);
    const live = this.#live;
    const isOlder = live !== null && builtAtMs < live.builtAtMs;
    if (isOlder && !this.#options.origin!.isAuthoritative) {
      throw new SnapshotRefused(
        'stale',
        `it is ${live.builtAtMs - builtAtMs} ms older than the one in use`,
      );
    }
    const update = await this.#read(keys, sealedHead, fetch, null);
    if (live === null || this.#live === null) this.#live = new LiveSnapshot(keys, update);
    else live.apply(update);
    return update;
  }

  /** @throws SnapshotRefused */
  #keysFor(sealedHead: Buffer): SnapshotKeys {
    const { masterKeys, origin, onRefused } = this.#options;
    const { keys, replaced } = keysOfHead(sealedHead, this.#live?.keys ?? null, masterKeys);
    if (replaced === null) return keys;
    if (!origin!.isAuthoritative) throw foreignSnapshot(keys, replaced);
    onRefused(foreignSnapshot(replaced, keys));
    this.#live = null;
    this.#copy.noteUnsaved();
    this.#decoded = new DecodedParts(decodedBytesMax);
    return keys;
  }

  #read(
    keys: SnapshotKeys,
    sealedHead: Buffer,
    fetch: FetchObjects,
    onDamage: ((refused: SnapshotRefused) => void) | null,
  ): Promise<SnapshotUpdate> {
    const held = this.#live;
    return readUpdate(sealedHead, { keys, held, decoded: this.#decoded, fetch, onDamage });
  }

  #notify({ changed, removed, damaged }: SnapshotUpdate): void {
    const ids = [...changed.map(({ id }) => id), ...removed, ...damaged];
    for (const listener of this.#listeners) listener(ids);
  }
}
