/** Builds and changes the sealed snapshot of simulated organisations, with the formats of the product. */
import { createHash } from 'node:crypto';
import { PartComposer } from '../../src/snapshot/building/compose-parts.ts';
import { pageCount } from '../../src/snapshot/building/part-plan.ts';
import { partNumberOf } from '../../src/snapshot/format/part-numbers.ts';
import { etagOf } from '../../src/snapshot/format/sealed-object.ts';
import {
  type PageEntry,
  type SnapshotHead,
  type SnapshotManifest,
  sealHead,
  sealManifest,
  sealPage,
} from '../../src/snapshot/format/snapshot-documents.ts';
import { openSnapshotKeys, type SnapshotKeys } from '../../src/snapshot/format/snapshot-keys.ts';
import type { DataKeyRow } from '../../src/store/resources/data-keys.ts';
import { slots } from '../../src/store/rows/marks.ts';
import { SeededRandom } from '../../test/support/run/seeded-random.ts';
import { benchMasterKeys, keyRow } from '../snapshot/written-copy.ts';
import type { Deployment } from './deployment.ts';

interface PublishedOrganisation {
  readonly id: string;
  readonly dataKey: DataKeyRow;
  readonly rows: ReturnType<typeof keyRow>[];
  manifest: SnapshotManifest | null;
  entry: PageEntry | null;
  readonly marks: Map<number, number>;
  changes: number;
}

/** A change of the organisation with a number, at a time. */
export interface Change {
  readonly organisation: number;
  readonly changedAtMs: number;
}

/** Everything that gateways read; objects of earlier heads stay. */
export class PublishedSnapshot {
  readonly keys: SnapshotKeys;
  readonly objects = new Map<string, Buffer>();
  sealedHead: Buffer = Buffer.alloc(0);
  etag: Buffer = Buffer.alloc(0);
  readonly #organisations: PublishedOrganisation[];
  readonly #deploymentKey: DataKeyRow;
  readonly #pages: (SnapshotHead['pages'][number] | null)[];
  readonly #members: PublishedOrganisation[][];
  #sequence = 0;

  constructor({ organisations, keysOfOrganisation, seed }: Deployment) {
    const random = new SeededRandom(seed);
    this.#deploymentKey = dataKeyOf('', random);
    this.keys = openSnapshotKeys(benchMasterKeys, this.#deploymentKey);
    this.#organisations = Array.from({ length: organisations }, () => {
      const id = random.id();
      const own = () => ({ id: random.id(), workspace: random.id(), config: random.id() });
      const rows = Array.from({ length: keysOfOrganisation }, (_, at) => keyRow(id, at, own()));
      const dataKey = dataKeyOf(id, random);
      return { id, dataKey, rows, manifest: null, entry: null, marks: new Map(), changes: 0 };
    });
    const count = pageCount(organisations, 1);
    this.#pages = Array.from({ length: count }, () => null);
    this.#members = Array.from({ length: count }, () => []);
    for (const one of this.#organisations) this.#members[partNumberOf(one.id, count)]!.push(one);
    const all = this.#organisations.map((_, organisation) => ({ organisation, changedAtMs: 0 }));
    this.publish(all, 0);
  }

  get organisations(): number {
    return this.#organisations.length;
  }

  /** Publishes a head with changes of keys, each of the organisation with a number. */
  publish(changes: readonly Change[], nowMs: number): void {
    const pages = new Set<number>();
    for (const [number, own] of Map.groupBy(changes, (change) => change.organisation)) {
      const one = this.#organisations[number]!;
      this.#compose(one, own, nowMs);
      pages.add(partNumberOf(one.id, this.#pages.length));
    }
    for (const number of pages) {
      const entries = this.#members[number]!.map(({ entry }) => entry!);
      const etag = this.#store(sealPage(this.keys, { number, entries }, nowMs));
      this.#pages[number] = { etag, sealedAtMs: nowMs };
    }
    this.#sequence += 1;
    this.sealedHead = sealHead(this.keys, {
      deploymentKey: this.#deploymentKey,
      sequence: this.#sequence,
      builtAtMs: nowMs,
      isSettled: true,
      pages: [...this.#pages],
    });
    this.etag = etagOf(this.sealedHead);
  }

  #compose(one: PublishedOrganisation, own: readonly Change[], nowMs: number): void {
    const { id, dataKey, rows, marks } = one;
    for (const { changedAtMs } of own) {
      const changed = one.changes % rows.length;
      rows[changed] = { ...rows[changed]!, name: `key ${changed}, changed ${one.changes}` };
      marks.set(one.changes % slots, changedAtMs);
      one.changes += 1;
    }
    const at = { organisationId: id, generation: String(one.changes), readAtMs: nowMs };
    const key = this.keys.organisationKey(dataKey);
    const composer = new PartComposer(this.keys, key, one.manifest, at);
    composer.addWhole('api_keys', rows);
    composer.addWhole('api_key_hashes', rows.map(valueRow));
    const changes = [...marks].map(([slot, changedAtMs]) => ({ slot, changedAtMs }));
    one.manifest = composer.finish({ peopleGeneration: '1', changes });
    for (const { etag, body } of composer.sealed)
      this.objects.set(etag.toString('base64url'), body);
    one.entry = {
      organisationId: id,
      tsgId: id,
      isDeleted: false,
      etag: this.#store(sealManifest(this.keys, one.manifest)),
      generation: at.generation,
      readAtMs: nowMs,
      wrappedKey: dataKey.wrapped_key,
      masterKeyId: dataKey.master_key_id,
    };
  }

  #store(sealed: Buffer): string {
    const etag = etagOf(sealed).toString('base64url');
    this.objects.set(etag, sealed);
    return etag;
  }
}

function valueRow({ id, organisation_id }: ReturnType<typeof keyRow>) {
  const hash = createHash('sha256').update(id).digest();
  return { hash, organisation_id, api_key_id: id, valid_until: null };
}

function dataKeyOf(id: string, random: SeededRandom): DataKeyRow {
  const key = Buffer.from(Array.from({ length: 32 }, () => random.below(256)));
  const { currentId } = benchMasterKeys;
  const wrapped = benchMasterKeys.wrap(currentId, key, id);
  return { organisation_id: id, master_key_id: currentId, wrapped_key: wrapped };
}
