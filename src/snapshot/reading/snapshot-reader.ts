/** Keeps the newest snapshot in memory and in files: loads it at the start, and pulls what changes. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { Clock } from '../../clock.ts';
import type { SnapshotSource, SnapshotView } from '../../store/reads/snapshot-view.ts';
import { etagOf } from '../format/sealed-object.ts';
import { openHead, readDeployment } from '../format/snapshot-documents.ts';
import { openSnapshotKeys, type SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { DecodedParts } from './decoded-parts.ts';
import { type HeldObject, LiveSnapshot, type SnapshotUpdate } from './live-snapshot.ts';
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
  #decoded = new DecodedParts(decodedBytesMax);
  #live: LiveSnapshot | null = null;
  #isCurrent = false;
  #confirmedAtMs: number | null = null;
  #isStaleReported = false;
  #isSaved = false;

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  view(): SnapshotView | null {
    return this.#live === null || this.#isTooOld() ? null : this.#live;
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
    const { copy, masterKeys, clock, maxAgeMs, onRefused } = this.#options;
    if (copy === null || this.#live !== null) return this.#live !== null;
    try {
      const found = await copy.load();
      if (found === null) return false;
      const keys = openSnapshotKeys(masterKeys, readDeployment(found.sealedHead).deploymentKey);
      const { builtAtMs } = openHead(keys, found.sealedHead);
      if (maxAgeMs !== null && clock.now() - builtAtMs > maxAgeMs) {
        throw tooOld(clock.now() - builtAtMs, maxAgeMs);
      }
      const update = await this.#read(keys, found.sealedHead, found.fetch, (refused) => {
        onRefused(refused);
      });
      this.#live = new LiveSnapshot(keys, update);
      this.#isCurrent = found.wasCurrent && update.head.isSettled;
      this.#confirmedAtMs = builtAtMs;
      this.#isSaved = true;
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
    if (state.sealedHead !== null || state.hasPending) await this.#setBehind();
    const update =
      state.sealedHead === null
        ? null
        : await this.#take(state.sealedHead, (addresses) => origin.readObjects(addresses));
    const { head } = this.#live!;
    this.#isCurrent = head.isSettled && !state.hasPending && this.#live!.isWhole;
    this.#confirmedAtMs = state.confirmedAtMs ?? head.builtAtMs;
    this.#isStaleReported = false;
    if (update !== null) this.#notify(update);
    await this.#save(update);
    return update !== null;
  }

  async #setBehind(): Promise<void> {
    this.#isCurrent = false;
    await this.#options.copy?.setCurrent(false).catch(this.#options.onUnsaved);
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
        `it is ${seconds(live.builtAtMs - builtAtMs)} older than the one in use`,
      );
    }
    const update = await this.#read(keys, sealedHead, fetch, null);
    if (live === null || this.#live === null) this.#live = new LiveSnapshot(keys, update);
    else live.apply(update);
    return update;
  }

  /**
   * The held keys, for which no master key is needed, unless the held snapshot belongs to another deployment
   * than an origin that decides.
   */
  #keysFor(sealedHead: Buffer): SnapshotKeys {
    const { masterKeys, origin } = this.#options;
    const { deploymentId, deploymentKey } = readDeployment(sealedHead);
    const held = this.#live?.keys;
    if (held?.deploymentId === deploymentId) return held;
    const keys = openSnapshotKeys(masterKeys, deploymentKey);
    if (held === undefined) return keys;
    const isForeign = !origin!.isAuthoritative;
    const refused = isForeign ? foreign(keys, held) : foreign(held, keys);
    if (isForeign) throw refused;
    this.#options.onRefused(refused);
    this.#live = null;
    this.#isSaved = false;
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

  async #save(update: SnapshotUpdate | null): Promise<void> {
    const { copy, onUnsaved } = this.#options;
    const live = this.#live!;
    if (copy === null) return;
    try {
      if (update !== null || !this.#isSaved) {
        const isSaved = await copy.save(live, this.#isSaved ? objectsOf(update!) : null);
        this.#isSaved = isSaved;
        if (!isSaved) return;
      }
      if (this.#isCurrent) await copy.setCurrent(true);
    } catch (error) {
      this.#isSaved = false;
      onUnsaved(error);
    }
  }

  #notify({ changed, removed, damaged }: SnapshotUpdate): void {
    const ids = [...changed.map(({ id }) => id), ...removed, ...damaged];
    for (const listener of this.#listeners) listener(ids);
  }

  #isTooOld(): boolean {
    const { maxAgeMs, clock, onRefused } = this.#options;
    if (maxAgeMs === null || this.#confirmedAtMs === null) return false;
    const ageMs = clock.now() - this.#confirmedAtMs;
    if (ageMs <= maxAgeMs) return false;
    if (!this.#isStaleReported) onRefused(tooOld(ageMs, maxAgeMs));
    this.#isStaleReported = true;
    return true;
  }
}

function* objectsOf({ head, documents, changed }: SnapshotUpdate): Generator<HeldObject> {
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

function foreign(snapshot: SnapshotKeys, gateway: SnapshotKeys): SnapshotRefused {
  return new SnapshotRefused(
    'foreign',
    `it belongs to deployment ${snapshot.deploymentId}, and this gateway to ${gateway.deploymentId}`,
  );
}

function tooOld(ageMs: number, maxAgeMs: number): SnapshotRefused {
  return new SnapshotRefused(
    'stale',
    `it is ${seconds(ageMs)} old, and GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS allows ${seconds(maxAgeMs)}`,
  );
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
