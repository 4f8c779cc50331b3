/** Reads the rows that a sealed snapshot contains from a database, without sealing them. */
import { sql } from 'kysely';
import type { RunningSnapshot } from '../../../src/snapshot/open-snapshot.ts';
import type { Database, Db } from '../../../src/store/connection/db.ts';
import { readConsistently } from '../../../src/store/consistent-read.ts';
import {
  type SnapshotRow,
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import type { OrganisationView, SnapshotView } from '../../../src/store/reads/snapshot-view.ts';
import type { DataKeyRow } from '../../../src/store/resources/data-keys.ts';
import { listGenerations } from '../../../src/store/rows/snapshot-marks.ts';

type AnyRow = Readonly<Record<string, unknown>>;
type TableRows = ReadonlyMap<SnapshotTableName, readonly AnyRow[]>;

const names = Object.keys(snapshotTables) as SnapshotTableName[];

export function readDatabaseView(database: Database, now: number): Promise<SnapshotView> {
  return readConsistently(database.db, (tx) => readView(tx, now));
}

async function readView(tx: Db, now: number): Promise<SnapshotView> {
  const tables = new Map<SnapshotTableName, readonly AnyRow[]>();
  for (const name of names) {
    const { columns, key } = snapshotTables[name];
    const { rows } = await sql<AnyRow>`select ${sql.join(columns.map((one) => sql.ref(one)))}
      from ${sql.table(name)} order by ${sql.join(key.map((one) => sql.ref(one)))}`.execute(tx);
    tables.set(name, rows);
  }
  const dataKeys = await tx.selectFrom('data_keys').selectAll().execute();
  const keys = new Map(dataKeys.map((row) => [row.organisation_id, row]));
  const organisations = rowsOf(tables, 'organisations');
  const generations = await listGenerations(
    tx,
    organisations.map(({ id }) => id),
  );
  const views = new Map<string, OrganisationView>();
  for (const { id, tsg_id, deleted_at } of organisations) {
    if (deleted_at !== null) continue;
    const generation = generations.get(id)!;
    const view = viewOf(tables, { id, generation, now, dataKey: keys.get(id) ?? null });
    views.set(id, view).set(tsg_id, view);
  }
  return {
    sequence: 1,
    builtAtMs: now,
    isWhole: true,
    deploymentKey: keys.get('')!,
    organisation: (reference) => views.get(reference),
    organisationIds: () => organisations.map(({ id }) => id),
    keyValue: (digest) => rowsOf(tables, 'api_key_hashes').find(({ hash }) => hash.equals(digest)),
  };
}

function rowsOf<T extends SnapshotTableName>(
  tables: TableRows,
  name: T,
): readonly SnapshotRow<T>[] {
  return tables.get(name)! as unknown as readonly SnapshotRow<T>[];
}

interface ViewFacts {
  readonly id: string;
  readonly generation: string;
  readonly now: number;
  readonly dataKey: DataKeyRow | null;
}

function viewOf(tables: TableRows, { id, generation, now, dataKey }: ViewFacts): OrganisationView {
  const all = <T extends SnapshotTableName>(table: T) =>
    rowsOf(tables, table).filter((row) => (row as AnyRow)[snapshotTables[table].tenant] === id);
  return {
    id,
    generation,
    peopleGeneration: '',
    readAtMs: now,
    dataKey,
    all,
    rows: (table, column, value) => all(table).filter((row) => isEqual(row[column], value)),
  };
}

function isEqual(one: unknown, other: unknown): boolean {
  return one instanceof Buffer && other instanceof Buffer ? one.equals(other) : one === other;
}

/** A snapshot whose view is replaced by hand. */
export interface ManualSnapshot extends RunningSnapshot {
  view: SnapshotView | null;
  isCurrent: boolean;
  confirmedAtMs: number | null;
}

export function manualSnapshot(): ManualSnapshot {
  const faults = { refused: 0, unsaved: 0, pull: 0, build: 0, bucket: 0 };
  const snapshot: ManualSnapshot = {
    view: null,
    isCurrent: true,
    confirmedAtMs: null,
    load: async () => undefined,
    pull: async () => undefined,
    loadFromBucket: async () => undefined,
    start: () => undefined,
    figures: () => ({ organisations: 0, keys: 0, ageSeconds: null, isBuilder: false, faults }),
    heldOrigin: {
      isAuthoritative: true,
      readState: async () => ({
        exists: false,
        sealedHead: null,
        hasPending: false,
        confirmedAtMs: null,
      }),
      readObjects: async () => new Map(),
    },
    source: {
      view: () => snapshot.view,
      isCurrent: () => snapshot.isCurrent,
      confirmedAtMs: () => snapshot.confirmedAtMs,
      onChange: () => undefined,
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return snapshot;
}
