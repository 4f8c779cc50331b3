/** Simulates one linked gateway that follows the snapshot, with the origin and the reader of the product. */
import { LinkedOrigin } from '../../src/control-link/linked-origin.ts';
import { partNumberOf } from '../../src/snapshot/format/part-numbers.ts';
import { etagOf } from '../../src/snapshot/format/sealed-object.ts';
import type { SnapshotHead, SnapshotPage } from '../../src/snapshot/format/snapshot-documents.ts';
import type { SnapshotKeys } from '../../src/snapshot/format/snapshot-keys.ts';
import { DecodedParts } from '../../src/snapshot/reading/decoded-parts.ts';
import type { SnapshotUpdate } from '../../src/snapshot/reading/live-snapshot.ts';
import { newChanges } from '../../src/snapshot/reading/new-changes.ts';
import type { OrganisationContents } from '../../src/snapshot/reading/organisation-contents.ts';
import { type KnownSnapshot, readUpdate } from '../../src/snapshot/reading/read-update.ts';
import { DatabaseUnavailable } from '../../src/store/connection/unavailable.ts';
import type { SimulatedControlPlane } from './control-plane.ts';
import { bytesPerMs } from './deployment.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** As in src/snapshot/open-snapshot.ts, after a failure and while changes are pending. */
const [failedMs, pendingMs] = [1_000, 200];
/** How long a request into a cut network waits for an answer. */
const lostMs = 30_000;

/** Contents of organisations by the etag of their manifest, which all simulated gateways share. */
export type SharedContents = Map<string, OrganisationContents>;

export interface ReaderFigures {
  /** Bytes of answers. */
  bytes: number;
  /** Heads that were taken over. */
  updates: number;
}

export interface LinkedReaderParts {
  readonly clock: VirtualClock;
  readonly control: SimulatedControlPlane;
  readonly keys: SnapshotKeys;
  readonly contents: SharedContents;
  readonly figures: ReaderFigures;
  readonly replica: number;
  readonly roundTripMs: number;
  /** Whether the network to the control plane is cut. */
  readonly isCut: () => boolean;
  /** Changes of these times are in force from now on, of a snapshot that was built at a time. */
  readonly onUpdate: (changedAtMs: readonly number[], builtAtMs: number) => void;
}

const decoded = new DecodedParts(0);

export class LinkedReader implements KnownSnapshot {
  readonly #parts: LinkedReaderParts;
  readonly #origin: LinkedOrigin;
  readonly isWhole = true;
  head: SnapshotHead;
  readonly #pages: (SnapshotPage | undefined)[] = [];
  #etag: Buffer;

  /** `first` is everything at the beginning. */
  constructor(parts: LinkedReaderParts, first: SnapshotUpdate) {
    this.#parts = parts;
    this.head = first.head;
    this.#etag = etagOf(first.sealedHead);
    for (const [number, page] of first.pages) this.#pages[number] = page;
    this.#origin = new LinkedOrigin({ read: (path, message) => this.#request(path, message) });
  }

  page(number: number): SnapshotPage | undefined {
    return this.#pages[number];
  }

  pageNumbers(): number[] {
    return this.#pages.flatMap((page) => page?.number ?? []);
  }

  contents(organisationId: string): OrganisationContents | undefined {
    const page = this.page(partNumberOf(organisationId, this.head.pages.length));
    const entry = page?.entries.find((one) => one.organisationId === organisationId);
    return entry && this.#parts.contents.get(entry.etag);
  }

  document(): undefined {
    return undefined;
  }

  organisationIds(): Iterable<string> {
    return this.#pages.flatMap((page) => page?.entries.map((one) => one.organisationId) ?? []);
  }

  /** Follows the snapshot for ever. */
  async run(): Promise<void> {
    const { clock } = this.#parts;
    for (;;) {
      try {
        if (await this.#pull()) await clock.sleep(pendingMs);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        await clock.sleep(failedMs);
      }
    }
  }

  /** Returns whether changes are pending. */
  async #pull(): Promise<boolean> {
    const { sealedHead, hasPending } = await this.#origin.readState(this.#etag);
    if (sealedHead === null) return hasPending;
    const { keys, contents, figures, onUpdate } = this.#parts;
    const fetch = this.#origin.readObjects.bind(this.#origin);
    const update = await readUpdate(sealedHead, {
      keys,
      held: this,
      decoded,
      fetch,
      onDamage: null,
    });
    for (const one of update.changed) contents.set(one.entry.etag, one);
    const times = update.changed.flatMap((after) => newChanges(this.contents(after.id), after));
    for (const [number, page] of update.pages) this.#pages[number] = page;
    this.head = update.head;
    this.#etag = etagOf(sealedHead);
    figures.updates += 1;
    onUpdate(times, update.head.builtAtMs);
    return hasPending;
  }

  async #request(path: string, message: unknown): Promise<Buffer> {
    const { clock, control, replica, roundTripMs, isCut, figures } = this.#parts;
    await clock.sleep(roundTripMs / 2);
    if (isCut()) return this.#lose();
    const answer = await control.answer(replica, path, message);
    await clock.sleep(roundTripMs / 2 + answer.length / bytesPerMs);
    if (isCut()) return this.#lose();
    figures.bytes += answer.length;
    return answer;
  }

  async #lose(): Promise<never> {
    await this.#parts.clock.sleep(lostMs);
    throw new DatabaseUnavailable('The simulated network is cut');
  }
}
