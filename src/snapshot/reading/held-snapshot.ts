/** Holds the snapshot of a process in memory, and takes over newer ones after verifying them. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import { foreignSnapshot, keysOfHead } from '../format/head-keys.ts';
import { openHead, readDeployment } from '../format/snapshot-documents.ts';
import { openSnapshotKeys, type SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import type { AgeLimit } from './age-limit.ts';
import { DecodedParts } from './decoded-parts.ts';
import { LiveSnapshot, type SnapshotUpdate } from './live-snapshot.ts';
import { type FetchObjects, readUpdate } from './read-update.ts';
import type { FiledSnapshot } from './snapshot-files.ts';
import type { SnapshotOrigin } from './snapshot-origin.ts';

interface HeldSnapshotOptions {
  readonly masterKeys: Pick<MasterKeys, 'unwrap'>;
  readonly age: AgeLimit;
  /** Reports a snapshot, or an organisation of it, that is not used. */
  readonly onRefused: (refused: SnapshotRefused) => void;
  /** Called when the held snapshot belongs to another deployment and is discarded. */
  readonly onReplaced: () => void;
  /** Receives the time of each change that is taken over. */
  readonly onChangeInForce: ((changedAtMs: number) => void) | null;
}

const decodedBytesMax = 64 * 1024 * 1024;

export class HeldSnapshot {
  readonly #options: HeldSnapshotOptions;
  live: LiveSnapshot | null = null;
  #decoded = new DecodedParts(decodedBytesMax);

  constructor(options: HeldSnapshotOptions) {
    this.#options = options;
  }

  /** Opens a copy, without the organisations of which parts are damaged. @throws SnapshotRefused */
  async open({ sealedHead, fetch }: FiledSnapshot): Promise<SnapshotUpdate> {
    const { masterKeys, onRefused, age } = this.#options;
    const keys = openSnapshotKeys(masterKeys, readDeployment(sealedHead).deploymentKey);
    age.require(openHead(keys, sealedHead).builtAtMs);
    const update = await this.#read(keys, sealedHead, fetch, (refused) => onRefused(refused));
    this.live = new LiveSnapshot(keys, update);
    return update;
  }

  /** @throws SnapshotRefused */
  async take(sealedHead: Buffer, origin: SnapshotOrigin): Promise<SnapshotUpdate> {
    const fetch: FetchObjects = (addresses) => origin.readObjects(addresses);
    const keys = this.#keysFor(sealedHead, origin);
    const { builtAtMs } = openHead(keys, sealedHead);
    if (!origin.isAuthoritative) this.#requireNewer(builtAtMs);
    const update = await this.#read(keys, sealedHead, fetch, null);
    if (this.live === null) this.live = new LiveSnapshot(keys, update);
    else this.live.apply(update, this.#options.onChangeInForce);
    return update;
  }

  /** @throws SnapshotRefused */
  #requireNewer(builtAtMs: number): void {
    this.#options.age.require(builtAtMs);
    const behindMs = (this.live?.builtAtMs ?? builtAtMs) - builtAtMs;
    if (behindMs <= 0) return;
    throw new SnapshotRefused('stale', `it is ${behindMs} ms older than the one in use`);
  }

  /** @throws SnapshotRefused */
  #keysFor(sealedHead: Buffer, origin: SnapshotOrigin): SnapshotKeys {
    const { masterKeys, onRefused } = this.#options;
    const { keys, replaced } = keysOfHead(sealedHead, this.live?.keys ?? null, masterKeys);
    if (replaced === null) return keys;
    if (!origin.isAuthoritative) throw foreignSnapshot(keys, replaced);
    onRefused(foreignSnapshot(replaced, keys));
    this.live = null;
    this.#options.onReplaced();
    this.#decoded = new DecodedParts(decodedBytesMax);
    return keys;
  }

  #read(
    keys: SnapshotKeys,
    sealedHead: Buffer,
    fetch: FetchObjects,
    onDamage: ((refused: SnapshotRefused) => void) | null,
  ): Promise<SnapshotUpdate> {
    const held = this.live;
    return readUpdate(sealedHead, { keys, held, decoded: this.#decoded, fetch, onDamage });
  }
}
