/** Reads the rows of organisations and seals the parts that changed. */
import { createHash, type KeyObject } from 'node:crypto';
import type { Db } from '../../store/connection/db.ts';
import { type SnapshotTableName, snapshotTables } from '../../store/reads/snapshot-tables.ts';
import type { StoredPart } from '../../store/snapshot/snapshot-parts.ts';
import * as snapshotRows from '../../store/snapshot/snapshot-rows.ts';
import type { OrganisationMarks } from '../../store/snapshot/unbuilt-marks.ts';
import { deploymentTable, partNumberOf } from '../format/part-numbers.ts';
import { encodeSections, type RowSection } from '../format/row-sections.ts';
import { etagOf, sealObject } from '../format/sealed-object.ts';
import {
  type ManifestPart,
  type ManifestTable,
  placeOfPart,
  type SnapshotManifest,
} from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { partCount } from './part-plan.ts';

type PlainRow = snapshotRows.PlainRow;

export const tableNames = Object.keys(snapshotTables) as SnapshotTableName[];

/** Sections up to this size share one object. */
const sharedBytesMax = 8 * 1024;
/** Parts of a divided table that are read at once. */
const partsAtOnce = 16;

/** Collects the parts of one organisation and seals those that its last manifest does not have. */
export class PartComposer {
  readonly #keys: SnapshotKeys;
  readonly #organisationKey: KeyObject;
  readonly #before: SnapshotManifest | null;
  readonly #at: Pick<SnapshotManifest, 'organisationId' | 'generation' | 'readAtMs'>;
  readonly #known = new Map<string, ManifestPart>();
  readonly #parts: ManifestPart[] = [];
  readonly #tables: Record<string, ManifestTable> = {};
  readonly #small: RowSection[] = [];
  readonly sealed: StoredPart[] = [];

  constructor(
    keys: SnapshotKeys,
    organisationKey: KeyObject,
    before: SnapshotManifest | null,
    at: Pick<SnapshotManifest, 'organisationId' | 'generation' | 'readAtMs'>,
  ) {
    this.#keys = keys;
    this.#organisationKey = organisationKey;
    this.#before = before;
    this.#at = at;
    for (const part of before?.parts ?? []) this.#known.set(placeKey(part), part);
  }

  /** Number of parts of a table in the last manifest; 0 without rows. */
  partsBefore(table: SnapshotTableName): number {
    return this.#before?.tables[table]?.parts.length ?? 0;
  }

  /** All rows of a table. */
  addWhole(table: SnapshotTableName, rows: readonly PlainRow[]): void {
    if (rows.length === 0) return;
    const { columns, partBy } = snapshotTables[table];
    const count = partCount(rows.length, this.partsBefore(table));
    const divided = Map.groupBy(rows, (row) => partNumberOf(row[partBy] as string, count));
    const positions = Array.from({ length: count }, (_, number) => {
      const section = { table, number, columns, rows: divided.get(number) ?? [] };
      const encoded = encodeSections([section]);
      const isShared = count === 1 && table !== deploymentTable && encoded.length <= sharedBytesMax;
      if (isShared) {
        this.#small.push(section);
        return -1;
      }
      const digest = createHash('sha256').update(encoded).digest('base64url');
      return this.#add({ table, number, count, digest }, () => encoded);
    });
    this.#tables[table] = { rows: rows.length, parts: positions };
  }

  /** A table that the database has digested; reads only the parts that changed. */
  async addDivided(
    tx: Db,
    table: SnapshotTableName,
    count: number,
    digests: ReadonlyMap<number, snapshotRows.PartDigest>,
  ): Promise<void> {
    const digestOf = (number: number): string => digests.get(number)?.digest ?? 'empty';
    const numbers = Array.from({ length: count }, (_, number) => number);
    const positions = new Map<number, number>();
    const isKnown = (number: number): boolean => {
      const known = this.#known.get(placeKey({ table, number, count }));
      return known !== undefined && known.digest === digestOf(number);
    };
    const { columns, partBy } = snapshotTables[table];
    const changed = numbers.filter((number) => !isKnown(number));
    for (let at = 0; at < changed.length; at += partsAtOnce) {
      const some = changed.slice(at, at + partsAtOnce);
      const choice = { count, numbers: some };
      const found = await snapshotRows.listRows(tx, table, [this.#at.organisationId], choice);
      const rows = found.get(this.#at.organisationId) ?? [];
      const divided = Map.groupBy(rows, (row) => partNumberOf(row[partBy] as string, count));
      for (const number of some) {
        const section = { table, number, columns, rows: divided.get(number) ?? [] };
        const place = { table, number, count, digest: digestOf(number) };
        positions.set(
          number,
          this.#add(place, () => encodeSections([section])),
        );
      }
    }
    for (const number of numbers.filter(isKnown)) {
      const known = this.#known.get(placeKey({ table, number, count }))!;
      positions.set(number, this.#parts.push(known) - 1);
    }
    const rows = digests.values().reduce((sum, one) => sum + one.rows, 0);
    this.#tables[table] = { rows, parts: numbers.map((number) => positions.get(number)!) };
  }

  /** Ends the collection. */
  finish({
    peopleGeneration,
    changes,
  }: Pick<OrganisationMarks, 'peopleGeneration' | 'changes'>): SnapshotManifest {
    if (this.#small.length > 0) {
      const encoded = encodeSections(this.#small);
      const digest = createHash('sha256').update(encoded).digest('base64url');
      const position = this.#add({ table: '*', number: 0, count: 1, digest }, () => encoded);
      for (const { table, rows } of this.#small) {
        this.#tables[table] = { rows: rows.length, parts: [position] };
      }
    }
    const [parts, tables] = [this.#parts, this.#tables];
    return { ...this.#at, peopleGeneration, changes, parts, tables };
  }

  /** Returns the position of the part in the manifest. */
  #add(
    place: Pick<ManifestPart, 'table' | 'number' | 'count' | 'digest'>,
    encode: () => Buffer,
  ): number {
    const known = this.#known.get(placeKey(place));
    if (known !== undefined && known.digest === place.digest) return this.#parts.push(known) - 1;
    const { organisationId, generation, readAtMs } = this.#at;
    const { digest, ...named } = place;
    const sealedPlace = { ...named, generation, sealedAtMs: readAtMs };
    const key = place.table === deploymentTable ? this.#keys.deploymentKey : this.#organisationKey;
    const body = sealObject(
      key,
      { kind: 'rows', place: placeOfPart(this.#keys, organisationId, sealedPlace) },
      encode(),
    );
    const etag = etagOf(body);
    this.sealed.push({ organisationId, etag, body });
    return this.#parts.push({ ...sealedPlace, digest, etag: etag.toString('base64url') }) - 1;
  }
}

function placeKey({ table, number, count }: Pick<ManifestPart, 'table' | 'number' | 'count'>) {
  return `${table} ${number} ${count}`;
}
