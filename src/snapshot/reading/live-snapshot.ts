/** Holds the newest snapshot of this process in memory, and replaces the organisations that changed. */
import type { SnapshotRow } from '../../store/reads/snapshot-tables.ts';
import type { OrganisationView, SnapshotView } from '../../store/reads/snapshot-view.ts';
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import type { SnapshotHead, SnapshotPage } from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { KeyIndex, keyChanges } from './key-index.ts';
import { newChanges } from './new-changes.ts';
import type { OrganisationContents } from './organisation-contents.ts';

/** Everything that differs between two heads; opened and verified. */
export interface SnapshotUpdate {
  readonly head: SnapshotHead;
  /** The sealed head. */
  readonly sealedHead: Buffer;
  /** Changed pages by number. */
  readonly pages: ReadonlyMap<number, SnapshotPage>;
  /** Sealed bytes of changed pages and manifests by etag, in base64url. */
  readonly documents: ReadonlyMap<string, Buffer>;
  readonly changed: readonly OrganisationContents[];
  /** Organisations that no page names any more. */
  readonly removed: readonly string[];
  /** Organisations whose parts were damaged. */
  readonly damaged: readonly string[];
}

/** An object of the snapshot and the organisation that it belongs to, '' for the deployment. */
export interface HeldObject {
  readonly organisationId: string;
  /** In base64url. */
  readonly etag: string;
  readonly sealed: Buffer;
}

export class LiveSnapshot implements SnapshotView {
  readonly keys: SnapshotKeys;
  readonly #keyIndex = new KeyIndex();
  readonly #organisations = new Map<string, OrganisationContents>();
  readonly #idsByTsg = new Map<string, string>();
  readonly #pages = new Map<number, SnapshotPage>();
  readonly #documents = new Map<string, Buffer>();
  readonly #damaged = new Set<string>();
  #head: SnapshotHead;
  #sealedHead: Buffer;

  /** The first update names everything. */
  constructor(keys: SnapshotKeys, update: SnapshotUpdate) {
    this.keys = keys;
    this.#head = update.head;
    this.#sealedHead = update.sealedHead;
    this.apply(update);
  }

  get head(): SnapshotHead {
    return this.#head;
  }

  get sealedHead(): Buffer {
    return this.#sealedHead;
  }

  get sequence(): number {
    return this.#head.sequence;
  }

  get builtAtMs(): number {
    return this.#head.builtAtMs;
  }

  get gateways(): number | null {
    return this.#head.gateways ?? null;
  }

  get isWhole(): boolean {
    return this.#damaged.size === 0;
  }

  get deploymentKey(): DataKeyRow {
    return this.#head.deploymentKey;
  }

  get keyCount(): number {
    return this.#keyIndex.size;
  }

  organisation(reference: string): OrganisationView | undefined {
    const found = this.#organisations.get(this.#idsByTsg.get(reference) ?? reference);
    return found === undefined || found.entry.isDeleted ? undefined : found;
  }

  organisationIds(): Iterable<string> {
    return this.#organisations.keys();
  }

  contents(organisationId: string): OrganisationContents | undefined {
    return this.#organisations.get(organisationId);
  }

  page(number: number): SnapshotPage | undefined {
    return this.#pages.get(number);
  }

  pageNumbers(): number[] {
    return [...this.#pages.keys()];
  }

  keyValue(digest: Buffer): SnapshotRow<'api_key_hashes'> | undefined {
    return this.#keyIndex.find(digest);
  }

  document(etag: string): Buffer | undefined {
    return this.#documents.get(etag);
  }

  contentsOfAll(): Iterable<OrganisationContents> {
    return this.#organisations.values();
  }

  /**
   * Synchronous, so that no reader sees a part of it. `onChange` receives the times of changes that it brings.
   *
   * @throws SnapshotRefused before anything is changed
   */
  apply(update: SnapshotUpdate, onChange: ((changedAtMs: number) => void) | null = null): void {
    const { head, sealedHead, pages, documents, changed, removed, damaged } = update;
    const keyUpdates = changed.map((after) =>
      keyChanges(this.keys, this.#organisations.get(after.id), after),
    );
    const times = changed.flatMap((after) => newChanges(this.#organisations.get(after.id), after));
    for (const [etag, sealed] of documents) this.#documents.set(etag, sealed);
    for (const id of removed) this.#remove(id);
    for (const id of damaged) this.#remove(id);
    for (const after of changed) this.#replace(after);
    for (const { removed: gone } of keyUpdates) for (const one of gone) this.#keyIndex.remove(one);
    for (const { added } of keyUpdates) for (const one of added) this.#keyIndex.add(one);
    this.#replacePages(head, pages);
    for (const { id } of changed) this.#damaged.delete(id);
    for (const id of removed) this.#damaged.delete(id);
    for (const id of damaged) this.#damaged.add(id);
    this.#head = head;
    this.#sealedHead = sealedHead;
    if (onChange !== null) for (const changedAtMs of times) onChange(changedAtMs);
  }

  #replace(after: OrganisationContents): void {
    const { organisationId, tsgId, etag } = after.entry;
    const before = this.#organisations.get(organisationId);
    if (before !== undefined && before.entry.etag !== etag) {
      this.#documents.delete(before.entry.etag);
    }
    this.#organisations.set(organisationId, after);
    this.#idsByTsg.set(tsgId, organisationId);
  }

  #remove(organisationId: string): void {
    const before = this.#organisations.get(organisationId);
    if (before === undefined) return;
    for (const section of keyChanges(this.keys, before, undefined).removed) {
      this.#keyIndex.remove(section);
    }
    this.#organisations.delete(organisationId);
    this.#idsByTsg.delete(before.entry.tsgId);
    this.#documents.delete(before.entry.etag);
  }

  #replacePages(head: SnapshotHead, pages: ReadonlyMap<number, SnapshotPage>): void {
    const named = new Set(head.pages.map((address) => address?.etag));
    for (const address of this.#head.pages) {
      if (address !== null && !named.has(address.etag)) this.#documents.delete(address.etag);
    }
    for (const [number, page] of pages) this.#pages.set(number, page);
    for (const number of this.#pages.keys()) {
      if ((head.pages[number] ?? null) === null) this.#pages.delete(number);
    }
  }
}

/** A snapshot as it is saved in files; it does not change. */
export interface SnapshotContents {
  readonly deploymentId: string;
  readonly sequence: number;
  readonly builtAtMs: number;
  readonly sealedHead: Buffer;
  /** All objects except the head. */
  readonly objects: readonly HeldObject[];
}

export function snapshotContents(live: LiveSnapshot): SnapshotContents {
  const { sequence, builtAtMs, sealedHead } = live;
  const { deploymentId } = live.keys;
  return { deploymentId, sequence, builtAtMs, sealedHead, objects: [...objectsOf(live)] };
}

function* objectsOf(live: LiveSnapshot): Generator<HeldObject> {
  for (const address of live.head.pages) {
    const sealed = address && live.document(address.etag);
    if (address && sealed) yield { organisationId: '', etag: address.etag, sealed };
  }
  for (const { entry, manifest, sealed } of live.contentsOfAll()) {
    const { organisationId } = entry;
    yield { organisationId, etag: entry.etag, sealed: live.document(entry.etag)! };
    for (const [at, { etag }] of manifest.parts.entries()) {
      yield { organisationId, etag, sealed: sealed[at]! };
    }
  }
}
