/** Holds a snapshot as all gateways with the same head hold it, and steps to newer ones with the reader of the product. */
import { partNumberOf } from '../../src/snapshot/format/part-numbers.ts';
import { etagOf } from '../../src/snapshot/format/sealed-object.ts';
import type { SnapshotHead, SnapshotPage } from '../../src/snapshot/format/snapshot-documents.ts';
import type { SnapshotKeys } from '../../src/snapshot/format/snapshot-keys.ts';
import { DecodedParts } from '../../src/snapshot/reading/decoded-parts.ts';
import { newChanges } from '../../src/snapshot/reading/new-changes.ts';
import type { OrganisationContents } from '../../src/snapshot/reading/organisation-contents.ts';
import {
  type KnownSnapshot,
  type ObjectAddress,
  readUpdate,
} from '../../src/snapshot/reading/read-update.ts';

/** A step of a gateway to a newer head. */
export interface SnapshotStep {
  readonly next: HeldSnapshot;
  /** Objects that the gateway requests for it, one request after the other. */
  readonly requests: readonly (readonly ObjectAddress[])[];
  /** Times of the changes that come in force with it. */
  readonly changedAtMs: readonly number[];
}

const decoded = new DecodedParts(0);

/**
 * Holds what all simulated gateways share. Gateways that hold the same head and read the same newer one do the same: the first
 * of them opens and verifies it for all, so that 10,000 gateways need no more memory than the distinct heads.
 */
export class SharedSnapshots {
  readonly #keys: SnapshotKeys;
  readonly #objects: ReadonlyMap<string, Buffer>;
  /** Contents of organisations by the etag of their manifest, pages by theirs. */
  readonly #organisations = new Map<string, OrganisationContents>();
  readonly #pages = new Map<string, SnapshotPage>();
  /** Snapshots by the etag of their head, because several steps lead to one. */
  readonly #held = new Map<string, HeldSnapshot>();

  /** `objects` are all that are published, by etag. */
  constructor(keys: SnapshotKeys, objects: ReadonlyMap<string, Buffer>) {
    this.#keys = keys;
    this.#objects = objects;
  }

  page(etag: string): SnapshotPage | undefined {
    return this.#pages.get(etag);
  }

  contents(etag: string): OrganisationContents | undefined {
    return this.#organisations.get(etag);
  }

  /** `before` is null for a gateway that holds nothing yet. */
  async read(before: HeldSnapshot | null, sealedHead: Buffer): Promise<SnapshotStep> {
    const requests: (readonly ObjectAddress[])[] = [];
    const fetch = async (addresses: readonly ObjectAddress[]) => {
      if (addresses.length > 0) requests.push(addresses);
      return this.#objects;
    };
    const options = { keys: this.#keys, held: before, decoded, fetch, onDamage: null };
    const { head, pages, changed } = await readUpdate(sealedHead, options);
    for (const one of changed) this.#organisations.set(one.entry.etag, one);
    for (const [number, page] of pages) this.#pages.set(head.pages[number]!.etag, page);
    const changedAtMs = changed.flatMap((after) => newChanges(before?.contents(after.id), after));
    const etag = etagOf(sealedHead);
    const key = etag.toString('base64url');
    const next = this.#held.get(key) ?? new HeldSnapshot(this, head, etag);
    this.#held.set(key, next);
    return { next, requests, changedAtMs };
  }
}

/** A snapshot as all gateways with the same head hold it. */
export class HeldSnapshot implements KnownSnapshot {
  readonly isWhole = true;
  readonly head: SnapshotHead;
  readonly etag: Buffer;
  readonly #shared: SharedSnapshots;
  readonly #steps = new Map<string, Promise<SnapshotStep>>();

  constructor(shared: SharedSnapshots, head: SnapshotHead, etag: Buffer) {
    this.#shared = shared;
    this.head = head;
    this.etag = etag;
  }

  page(number: number): SnapshotPage | undefined {
    const address = this.head.pages[number];
    return address ? this.#shared.page(address.etag) : undefined;
  }

  pageNumbers(): number[] {
    return this.head.pages.flatMap((_, number) => this.page(number)?.number ?? []);
  }

  contents(organisationId: string): OrganisationContents | undefined {
    const page = this.page(partNumberOf(organisationId, this.head.pages.length));
    const entry = page?.entries.find((one) => one.organisationId === organisationId);
    return entry && this.#shared.contents(entry.etag);
  }

  document(): undefined {
    return undefined;
  }

  organisationIds(): Iterable<string> {
    return this.pageNumbers().flatMap((number) =>
      this.page(number)!.entries.map((one) => one.organisationId),
    );
  }

  /** The step to a newer head, computed once. */
  step(sealedHead: Buffer): Promise<SnapshotStep> {
    const key = etagOf(sealedHead).toString('base64url');
    const step = this.#steps.get(key) ?? this.#shared.read(this, sealedHead);
    this.#steps.set(key, step);
    return step;
  }
}
