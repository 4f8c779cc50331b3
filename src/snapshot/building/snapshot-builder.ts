/** Builds the sealed snapshot of all organisations, in one process of the deployment at a time. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { Db } from '../../store/connection/db.ts';
import { deploymentId } from '../../store/resources/data-keys.ts';
import * as organisations from '../../store/resources/organisations.ts';
import * as snapshotHeads from '../../store/snapshot/snapshot-heads.ts';
import * as snapshotRows from '../../store/snapshot/snapshot-rows.ts';
import { listUnbuilt, updateBuilt } from '../../store/snapshot/unbuilt-marks.ts';
import { openSnapshotKeys } from '../format/snapshot-keys.ts';
import type { SnapshotRefused } from '../format/snapshot-refused.ts';
import { BuilderState } from './builder-state.ts';
import { collectGarbage } from './collect-garbage.ts';
import { type HeadChange, publishHead, settleObjects } from './publish-head.ts';
import { readOrganisations } from './read-organisations.ts';
import { readRewrapped } from './read-rewrapped.ts';

export interface SnapshotBuilderOptions {
  readonly db: Db;
  readonly masterKeys: MasterKeys;
  /** Unique to this process. */
  readonly holder: string;
  readonly leaseMs: number;
  /** Replaced objects stay this long for readers of the previous head. */
  readonly graceMs: number;
  /** A head without changes is replaced after this time, so that its age is known without the database. */
  readonly touchMs: number;
  /** Reports a published snapshot that cannot be read and is built again. */
  readonly onRefused: (refused: SnapshotRefused) => void;
}

/** Result of one step. */
export interface BuildStep {
  /** `waiting`: another process builds. `lost`: another process took over during the step. */
  readonly state: 'waiting' | 'idle' | 'built' | 'lost';
  /** Organisations whose contents changed. */
  readonly changed: number;
  /** Whether more changes are known to wait. */
  readonly hasMore: boolean;
}

/** Organisations of one consistent read. */
const organisationsMax = 128;
const listedMax = 2_000;

/**
 * Every object is stored under its digest before the head names it, and the head is replaced by one
 * conditional statement. A builder that ends at any point, or that was replaced, leaves the published
 * snapshot as it is, and objects that nothing names.
 */
export class SnapshotBuilder {
  readonly #options: SnapshotBuilderOptions;
  #state: BuilderState | null = null;

  constructor(options: SnapshotBuilderOptions) {
    this.#options = options;
  }

  /** Whether this process holds the lease, as far as it knows. */
  get isHolder(): boolean {
    return this.#state !== null;
  }

  /** The lease, by which one process alone may write elsewhere too; null while this process does not hold it. */
  get right(): { readonly fence: number; confirm(): Promise<boolean> } | null {
    const state = this.#state;
    if (state === null) return null;
    const { db, leaseMs } = this.#options;
    return {
      fence: state.lease.fence,
      confirm: () => snapshotHeads.renew(db, state.lease, leaseMs),
    };
  }

  /** Publishes the changes that wait, up to some organisations. Forgets everything when it throws. */
  async step(): Promise<BuildStep> {
    try {
      const state = this.#state ?? (await this.#acquire());
      this.#state = state;
      if (state === null) return { state: 'waiting', changed: 0, hasMore: false };
      return await this.#build(state);
    } catch (error) {
      this.#state = null;
      throw error;
    }
  }

  /** Extends the lease, follows a rotation of the master key, and deletes objects that nothing names. */
  async maintain(): Promise<void> {
    const state = this.#state;
    if (state === null) return;
    try {
      if (!(await snapshotHeads.renew(this.#options.db, state.lease, this.#options.leaseMs))) {
        this.#state = null;
        return;
      }
      const rotated = await readRewrapped(this.#options.db, state);
      if (rotated !== null) await this.#publish(state, rotated);
      if (state.head !== null) await collectGarbage(this.#options.db, state);
    } catch (error) {
      this.#state = null;
      throw error;
    }
  }

  /** Lets another process build at once. */
  async release(): Promise<void> {
    const state = this.#state;
    this.#state = null;
    if (state !== null) await snapshotHeads.release(this.#options.db, state.lease);
  }

  async #acquire(): Promise<BuilderState | null> {
    const { db, masterKeys, holder, leaseMs, onRefused } = this.#options;
    const lease = await snapshotHeads.acquire(db, holder, leaseMs);
    if (lease === null) return null;
    const wrapped = (await snapshotRows.listDataKeys(db, [deploymentId])).get(deploymentId)!;
    const keys = openSnapshotKeys(masterKeys, wrapped);
    return BuilderState.load(db, keys, lease, wrapped, onRefused);
  }

  async #build(state: BuilderState): Promise<BuildStep> {
    const { db, touchMs, graceMs } = this.#options;
    const { organisationIds, now } = await listUnbuilt(db, listedMax);
    const waiting = await this.#withUnknown(state, organisationIds);
    if (waiting.length === 0) {
      const { head } = state;
      if (head?.isSettled && now - head.builtAtMs < touchMs) {
        return { state: 'idle', changed: 0, hasMore: false };
      }
      const isPublished = await this.#publish(state, { now, isSettled: true });
      return { state: isPublished ? 'idle' : 'lost', changed: 0, hasMore: false };
    }
    // Organisations of one page together, so that fewer pages are written.
    const batch = waiting
      .toSorted((a, b) => state.pageNumber(a) - state.pageNumber(b))
      .slice(0, organisationsMax);
    const hasMore = batch.length < waiting.length || organisationIds.length >= listedMax;
    const earlier = await state.earlier(db, batch);
    const { built, gone, marks } = await readOrganisations(
      { ...this.#options, keys: state.keys },
      batch,
      earlier,
    );
    const changed = built.filter(({ sealed }) => sealed.length > 0);
    const isPublished = await this.#publish(state, {
      entries: changed.map(({ entry }) => entry),
      gone,
      objects: changed.flatMap(({ sealed }) => sealed),
      now,
      isSettled: !hasMore,
    });
    if (!isPublished) return { state: 'lost', changed: 0, hasMore: false };
    await settleObjects(db, graceMs, earlier, { built: changed, gone });
    for (const id of batch) state.unknownIds?.delete(id);
    const done = new Set([...built.map(({ entry }) => entry.organisationId), ...gone]);
    await updateBuilt(db, new Map([...marks].filter(([id]) => done.has(id))));
    return { state: 'built', changed: changed.length + gone.length, hasMore };
  }

  /** Adds organisations that are in no page: those of before the first build, and those without marks. */
  async #withUnknown(state: BuilderState, unbuilt: readonly string[]): Promise<readonly string[]> {
    if (state.unknownIds === null) {
      const all = new Set(await organisations.listIds(this.#options.db));
      state.unknownIds = all.difference(new Set(state.organisationIds));
    }
    return [...new Set([...unbuilt, ...state.unknownIds])];
  }

  /** False, and nothing is published, when another process took over. */
  async #publish(state: BuilderState, change: HeadChange): Promise<boolean> {
    const { db, graceMs } = this.#options;
    const isPublished = await publishHead(db, graceMs, state, change);
    if (!isPublished) this.#state = null;
    return isPublished;
  }
}
