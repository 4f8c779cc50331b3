/** Holds what a builder knows of the published snapshot: the head, its pages, and manifests on demand. */
import type { Db } from '../../store/connection/db.ts';
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import type { HeadLease } from '../../store/snapshot/snapshot-heads.ts';
import * as snapshotParts from '../../store/snapshot/snapshot-parts.ts';
import * as usageHolders from '../../store/usage/usage-holders.ts';
import { partNumberOf } from '../format/part-numbers.ts';
import {
  openHead,
  openManifest,
  openPage,
  type PageEntry,
  type SnapshotHead,
  type SnapshotManifest,
} from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { pageCount } from './part-plan.ts';
import type { EarlierOrganisation } from './read-organisations.ts';

export interface PageChange {
  readonly number: number;
  readonly entries: readonly PageEntry[];
}

/** Shorter than the time after which a head without changes is replaced. */
const countEveryMs = 20_000;

export class BuilderState {
  readonly keys: SnapshotKeys;
  readonly lease: HeadLease;
  /** Null before the first head, and when the published one cannot be read. */
  head: SnapshotHead | null;
  deploymentKey: DataKeyRow;
  /** The sequence of the published head. */
  sequence: number;
  /** Organisations in no page; null before they were listed. */
  unknownIds: Set<string> | null = null;
  /** Entries by organisation, of all pages. */
  readonly #entries = new Map<string, PageEntry>();
  #idsByPage = new Map<number, Set<string>>();
  #pageCount = 1;
  #counted: { readonly gateways: number; readonly atMs: number } | null = null;

  private constructor(
    keys: SnapshotKeys,
    lease: HeadLease,
    head: SnapshotHead | null,
    deploymentKey: DataKeyRow,
  ) {
    this.keys = keys;
    this.lease = lease;
    this.head = head;
    this.deploymentKey = deploymentKey;
    this.sequence = lease.sequence;
  }

  /** Reads the published snapshot. One that cannot be read is built again from nothing. */
  static async load(
    db: Db,
    keys: SnapshotKeys,
    lease: HeadLease,
    deploymentKey: DataKeyRow,
    onRefused: (refused: SnapshotRefused) => void,
  ): Promise<BuilderState> {
    const empty = () => new BuilderState(keys, lease, null, deploymentKey);
    if (lease.head === null) return empty();
    try {
      const state = new BuilderState(keys, lease, openHead(keys, lease.head.body), deploymentKey);
      await state.#loadPages(db);
      return state;
    } catch (error) {
      if (!(error instanceof SnapshotRefused)) throw error;
      onRefused(error);
      return empty();
    }
  }

  /** Gateways that share limits, counted from time to time. */
  async countGateways(db: Db, now: number): Promise<number> {
    if (this.#counted === null || now - this.#counted.atMs >= countEveryMs) {
      this.#counted = { gateways: await usageHolders.countMost(db), atMs: now };
    }
    return this.#counted.gateways;
  }

  get organisationIds(): Iterable<string> {
    return this.#entries.keys();
  }

  get entries(): Iterable<PageEntry> {
    return this.#entries.values();
  }

  pageNumber(organisationId: string): number {
    return partNumberOf(organisationId, this.#pageCount);
  }

  async #loadPages(db: Db): Promise<void> {
    const { pages } = this.head!;
    this.#pageCount = pages.length;
    const addresses = pages.flatMap((page) =>
      page === null ? [] : [{ organisationId: '', etag: Buffer.from(page.etag, 'base64url') }],
    );
    const found = await readParts(db, addresses);
    for (const [number, address] of pages.entries()) {
      if (address === null) continue;
      const sealed = found.get(address.etag);
      if (sealed === undefined) throw new SnapshotRefused('torn', `page ${number} is missing`);
      for (const entry of openPage(this.keys, number, address, sealed).entries) this.#set(entry);
    }
  }

  /** The last state of organisations; those that are new or damaged are absent. */
  async earlier(
    db: Db,
    organisationIds: readonly string[],
  ): Promise<Map<string, EarlierOrganisation>> {
    const entries = organisationIds.flatMap((id) => this.#entries.get(id) ?? []);
    const addresses = entries.map(({ organisationId, etag }) => ({
      organisationId,
      etag: Buffer.from(etag, 'base64url'),
    }));
    const found = await readParts(db, addresses);
    const earlier = new Map<string, EarlierOrganisation>();
    for (const entry of entries) {
      const manifest = openedOrNull(this.keys, entry, found.get(entry.etag));
      if (manifest !== null) earlier.set(entry.organisationId, { entry, manifest });
    }
    return earlier;
  }

  /** Applies entries and returns the pages that change, with their etags as they were. */
  change(
    entries: readonly PageEntry[],
    gone: readonly string[],
  ): { readonly pages: readonly PageChange[]; readonly count: number } {
    const before = this.#pageCount;
    for (const id of gone) this.#delete(id);
    for (const entry of entries) this.#set(entry);
    this.#pageCount = pageCount(this.#entries.size, before);
    if (this.#pageCount !== before || this.head === null) {
      this.#divideAgain();
      const numbers = [...this.#idsByPage.keys()];
      return { pages: numbers.map((number) => this.#page(number)), count: this.#pageCount };
    }
    const ids = [...entries.map((one) => one.organisationId), ...gone];
    const numbers = new Set(ids.map((id) => partNumberOf(id, this.#pageCount)));
    return {
      pages: [...numbers].map((number) => this.#page(number)),
      count: this.#pageCount,
    };
  }

  #page(number: number): PageChange {
    const ids = [...(this.#idsByPage.get(number) ?? [])].toSorted();
    return { number, entries: ids.map((id) => this.#entries.get(id)!) };
  }

  #set(entry: PageEntry): void {
    this.#entries.set(entry.organisationId, entry);
    const number = partNumberOf(entry.organisationId, this.#pageCount);
    const ids = this.#idsByPage.get(number) ?? new Set();
    this.#idsByPage.set(number, ids.add(entry.organisationId));
  }

  #delete(organisationId: string): void {
    this.#entries.delete(organisationId);
    this.#idsByPage.get(partNumberOf(organisationId, this.#pageCount))?.delete(organisationId);
  }

  #divideAgain(): void {
    this.#idsByPage = Map.groupBy(this.#entries.keys(), (id) =>
      partNumberOf(id, this.#pageCount),
    ) as unknown as Map<number, Set<string>>;
    for (const [number, ids] of this.#idsByPage) this.#idsByPage.set(number, new Set(ids));
  }
}

/** By etag in base64url. */
async function readParts(
  db: Db,
  addresses: readonly snapshotParts.PartAddress[],
): Promise<Map<string, Buffer>> {
  if (addresses.length === 0) return new Map();
  const found = await snapshotParts.list(db, addresses);
  return new Map(found.map(({ etag, body }) => [etag.toString('base64url'), body]));
}

function openedOrNull(
  keys: SnapshotKeys,
  entry: PageEntry,
  sealed: Buffer | undefined,
): SnapshotManifest | null {
  if (sealed === undefined) return null;
  try {
    return openManifest(keys, entry, sealed);
  } catch (error) {
    if (error instanceof SnapshotRefused) return null;
    throw error;
  }
}
