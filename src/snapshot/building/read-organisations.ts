/** Reads organisations in one consistent read and composes their manifests. */
import { ensureDataKey } from '../../auth/data-keys.ts';
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { Db } from '../../store/connection/db.ts';
import { readConsistently } from '../../store/consistent-read.ts';
import type { SnapshotTableName } from '../../store/reads/snapshot-tables.ts';
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import type { StoredPart } from '../../store/snapshot/snapshot-parts.ts';
import * as snapshotRows from '../../store/snapshot/snapshot-rows.ts';
import { listMarks, type OrganisationMarks } from '../../store/snapshot/unbuilt-marks.ts';
import { etagOf } from '../format/sealed-object.ts';
import {
  type PageEntry,
  type SnapshotManifest,
  sealManifest,
} from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { PartComposer, tableNames } from './compose-parts.ts';
import { partCount, undividedMax } from './part-plan.ts';

/** An organisation as it is after a build. */
interface BuiltOrganisation {
  readonly entry: PageEntry;
  readonly manifest: SnapshotManifest;
  /** New objects, the manifest included; empty when nothing changed. */
  readonly sealed: readonly StoredPart[];
}

export interface BuiltOrganisations {
  readonly built: readonly BuiltOrganisation[];
  /** Organisations without a row. */
  readonly gone: readonly string[];
  readonly marks: ReadonlyMap<string, OrganisationMarks>;
}

/** The last state of an organisation. */
export interface EarlierOrganisation {
  readonly entry: PageEntry;
  readonly manifest: SnapshotManifest;
}

export interface OrganisationReads {
  readonly db: Db;
  readonly masterKeys: MasterKeys;
  readonly keys: SnapshotKeys;
}

/** All rows are of one time. Organisations without a data key get one first. */
export async function readOrganisations(
  reads: OrganisationReads,
  organisationIds: readonly string[],
  earlier: ReadonlyMap<string, EarlierOrganisation>,
): Promise<BuiltOrganisations> {
  const known = await snapshotRows.listRows(reads.db, 'organisations', organisationIds);
  const keyed = await snapshotRows.listDataKeys(reads.db, organisationIds);
  for (const id of known.keys()) {
    if (!keyed.has(id)) await ensureDataKey(reads.db, reads.masterKeys, id);
  }
  return readConsistently(reads.db, (tx) => compose(tx, reads, organisationIds, earlier));
}

async function compose(
  tx: Db,
  { keys }: OrganisationReads,
  organisationIds: readonly string[],
  earlier: ReadonlyMap<string, EarlierOrganisation>,
): Promise<BuiltOrganisations> {
  // First, so that no generation is newer than the rows even where shards are read one after another.
  const marks = await listMarks(tx, organisationIds);
  const now = await snapshotRows.readTime(tx);
  const organisations = await snapshotRows.listRows(tx, 'organisations', organisationIds);
  const dataKeys = await snapshotRows.listDataKeys(tx, organisationIds);
  const composers = new Map<string, PartComposer>();
  for (const id of organisations.keys()) {
    const dataKey = dataKeys.get(id);
    // Created after `known` was read; its marks bring it into the next build.
    if (dataKey === undefined) continue;
    const { generation } = marks.get(id)!;
    const at = { organisationId: id, generation, readAtMs: now };
    const before = earlier.get(id)?.manifest ?? null;
    composers.set(id, new PartComposer(keys, keys.organisationKey(dataKey), before, at));
  }
  for (const table of tableNames) await readTable(tx, table, composers, earlier);
  const built = [...composers].map(([id, composer]): BuiltOrganisation => {
    const row = organisations.get(id)![0]!;
    const manifest = composer.finish(marks.get(id)!);
    const before = earlier.get(id);
    if (before !== undefined && isUnchanged(before, manifest, dataKeys.get(id)!)) {
      return { ...before, sealed: [] };
    }
    return sealed(keys, manifest, composer.sealed, row, dataKeys.get(id)!);
  });
  const gone = organisationIds.filter((id) => !organisations.has(id));
  return { built, gone, marks };
}

/** Tables with many rows are read by parts, the others for all organisations at once. */
async function readTable(
  tx: Db,
  table: SnapshotTableName,
  composers: ReadonlyMap<string, PartComposer>,
  earlier: ReadonlyMap<string, EarlierOrganisation>,
): Promise<void> {
  const fresh = [...composers.keys()].filter((id) => !earlier.has(id));
  const counts =
    fresh.length === 0 ? new Map() : await snapshotRows.countByOrganisation(tx, table, fresh);
  const rowsOf = (id: string): number =>
    earlier.get(id)?.manifest.tables[table]?.rows ?? counts.get(id) ?? 0;
  const [large, small] = [[], []] as [string[], string[]];
  for (const id of composers.keys()) (rowsOf(id) > undividedMax ? large : small).push(id);
  if (small.length > 0) {
    const rows = await snapshotRows.listRows(tx, table, small);
    for (const id of small) composers.get(id)!.addWhole(table, rows.get(id) ?? []);
  }
  for (const id of large) {
    const composer = composers.get(id)!;
    let count = partCount(rowsOf(id), composer.partsBefore(table));
    let digests = await snapshotRows.listPartDigests(tx, table, id, count);
    const total = digests.values().reduce((sum, one) => sum + one.rows, 0);
    const fair = partCount(total, count);
    if (fair === 1) {
      composer.addWhole(table, (await snapshotRows.listRows(tx, table, [id])).get(id) ?? []);
      continue;
    }
    if (fair !== count) {
      count = fair;
      digests = await snapshotRows.listPartDigests(tx, table, id, count);
    }
    await composer.addDivided(tx, table, count, digests);
  }
}

function isUnchanged(
  { entry, manifest }: EarlierOrganisation,
  now: SnapshotManifest,
  key: DataKeyRow,
) {
  return (
    manifest.generation === now.generation &&
    manifest.peopleGeneration === now.peopleGeneration &&
    entry.wrappedKey === key.wrapped_key &&
    manifest.parts.length === now.parts.length &&
    manifest.parts.every(({ etag }, at) => etag === now.parts[at]!.etag)
  );
}

function sealed(
  keys: SnapshotKeys,
  manifest: SnapshotManifest,
  parts: readonly StoredPart[],
  row: snapshotRows.PlainRow,
  { wrapped_key: wrappedKey, master_key_id: masterKeyId }: DataKeyRow,
): BuiltOrganisation {
  const { organisationId, generation, readAtMs } = manifest;
  const body = sealManifest(keys, manifest);
  const etag = etagOf(body);
  const entry = {
    organisationId,
    tsgId: row.tsg_id as string,
    isDeleted: row.deleted_at !== null,
    etag: etag.toString('base64url'),
    generation,
    readAtMs,
    wrappedKey,
    masterKeyId,
  };
  return { entry, manifest, sealed: [...parts, { organisationId, etag, body }] };
}
