/** Finds the rows of one organisation in its sealed parts. */
import {
  type SnapshotColumn,
  type SnapshotRow,
  type SnapshotTableName,
  snapshotTables,
} from '../../store/reads/snapshot-tables.ts';
import type { OrganisationView } from '../../store/reads/snapshot-view.ts';
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import type { PlainRow } from '../../store/snapshot/snapshot-rows.ts';
import { partNumberOf } from '../format/part-numbers.ts';
import type { DecodedSection } from '../format/row-sections.ts';
import type { PageEntry, SnapshotManifest } from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import type { DecodedParts } from './decoded-parts.ts';

export interface OrganisationParts {
  readonly keys: SnapshotKeys;
  readonly entry: PageEntry;
  readonly manifest: SnapshotManifest;
  /** Sealed bytes in the order of the manifest. */
  readonly sealed: readonly Buffer[];
  readonly decoded: DecodedParts;
}

export class OrganisationContents implements OrganisationView {
  readonly entry: PageEntry;
  readonly manifest: SnapshotManifest;
  readonly sealed: readonly Buffer[];
  readonly #keys: SnapshotKeys;
  readonly #decoded: DecodedParts;

  constructor({ keys, entry, manifest, sealed, decoded }: OrganisationParts) {
    this.entry = entry;
    this.manifest = manifest;
    this.sealed = sealed;
    this.#keys = keys;
    this.#decoded = decoded;
  }

  get id(): string {
    return this.entry.organisationId;
  }

  get generation(): string {
    return this.manifest.generation;
  }

  get peopleGeneration(): string {
    return this.manifest.peopleGeneration;
  }

  get readAtMs(): number {
    return this.manifest.readAtMs;
  }

  get dataKey(): DataKeyRow {
    const { organisationId, masterKeyId, wrappedKey } = this.entry;
    return {
      organisation_id: organisationId,
      master_key_id: masterKeyId,
      wrapped_key: wrappedKey,
    };
  }

  rows<T extends SnapshotTableName, C extends SnapshotColumn<T>>(
    table: T,
    column: C,
    value: SnapshotRow<T>[C],
  ): readonly SnapshotRow<T>[] {
    const found = this.#sectionsWith(table, column, value).map((one) => one.find(column, value));
    return this.#inOrder(table, found) as unknown as SnapshotRow<T>[];
  }

  all<T extends SnapshotTableName>(table: T): readonly SnapshotRow<T>[] {
    const found = this.#sectionsOf(table).map((section) => [...section.rows()]);
    return this.#inOrder(table, found) as unknown as SnapshotRow<T>[];
  }

  #sectionsWith(table: SnapshotTableName, column: string, value: unknown): DecodedSection[] {
    const parts = this.manifest.tables[table]?.parts ?? [];
    const isDivided = parts.length > 1 && column === snapshotTables[table].partBy;
    if (!isDivided || value === null) return this.#sectionsOf(table);
    const number = partNumberOf(value as string | Buffer, parts.length);
    return this.#sectionOf(table, number);
  }

  #sectionsOf(table: SnapshotTableName): DecodedSection[] {
    const parts = this.manifest.tables[table]?.parts ?? [];
    return parts.flatMap((_, number) => this.#sectionOf(table, number));
  }

  #sectionOf(table: SnapshotTableName, number: number): DecodedSection[] {
    const at = this.manifest.tables[table]!.parts[number]!;
    const source = {
      organisationId: this.id,
      dataKey: this.dataKey,
      part: this.manifest.parts[at]!,
      sealed: this.sealed[at]!,
    };
    return this.#decoded
      .sections(this.#keys, source)
      .filter((section) => section.table === table && section.number === number);
  }

  /** Parts are ordered in themselves. */
  #inOrder(table: SnapshotTableName, found: readonly PlainRow[][]): PlainRow[] {
    const rows = found.flat();
    return found.length < 2 ? rows : rows.toSorted(byKey(snapshotTables[table].key));
  }
}

function byKey(key: readonly string[]): (a: PlainRow, b: PlainRow) => number {
  return (a, b) => {
    for (const column of key) {
      const order = compare(a[column], b[column]);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Keys are ASCII texts, bytes or numbers. */
function compare(a: unknown, b: unknown): number {
  if (Buffer.isBuffer(a) && Buffer.isBuffer(b)) return Buffer.compare(a, b);
  if (a === b) return 0;
  return (a as string) < (b as string) ? -1 : 1;
}
