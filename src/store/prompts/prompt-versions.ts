/** Knows the prompt_versions table: what prompts and partials say or said, and the labels of that. */
import { type Selectable, sql } from 'kysely';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import { isUuid } from '../../model/wire/slug.ts';
import type { Db } from '../connection/db.ts';
import { listJoined, slicesOfBytes } from '../rows/paging.ts';
import { type VersionRow, versionTable } from '../rows/resource-versions.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import * as promptLabels from './prompt-labels.ts';

interface PromptVersionRow extends VersionRow {
  content: string;
  label_id: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    prompt_versions: PromptVersionRow;
  }
}

/** A version as stored. */
export interface StoredPromptVersion
  extends Omit<Selectable<PromptVersionRow>, 'id' | 'resource_id'> {
  readonly id: string;
}

const versions = versionTable('prompt_versions');

export const { deleteVersions } = versions;

/** A prompt or partial, as its versions know it. */
interface Versions {
  readonly id: string;
  readonly organisation_id: string;
  /** The number of the published one. */
  readonly version_number: number;
}

/**
 * Yields the number of the new version. That which is published stays, and those with a label do,
 * however old they are.
 */
export function insertVersion(
  tx: Db,
  of: Versions,
  version: Pick<StoredPromptVersion, 'id' | 'name' | 'content' | 'created_by' | 'created_at'>,
): Promise<number> {
  snapshotMarks.replaceOne(tx, of.organisation_id);
  const kept = sql<boolean>`(number = ${of.version_number} or label_id is not null)`;
  return versions.insertVersion(
    tx,
    { ...version, organisation_id: of.organisation_id, resource_id: of.id, label_id: null },
    kept,
  );
}

function ofResource(db: Db, of: Pick<Versions, 'id' | 'organisation_id'>) {
  return db
    .selectFrom('prompt_versions')
    .where('organisation_id', '=', of.organisation_id)
    .where('resource_id', '=', idToBytes(of.id));
}

function toVersion(row: Selectable<PromptVersionRow>): StoredPromptVersion;
function toVersion(row: Selectable<PromptVersionRow> | undefined): StoredPromptVersion | undefined;
function toVersion(row: Selectable<PromptVersionRow> | undefined): StoredPromptVersion | undefined {
  if (row === undefined) return undefined;
  const { resource_id: _, ...rest } = row;
  return { ...rest, id: idFromBytes(row.id) };
}

export async function findLatest(
  db: Db,
  of: Pick<Versions, 'id' | 'organisation_id'>,
): Promise<StoredPromptVersion | undefined> {
  const rows = ofResource(db, of).selectAll().orderBy('number', 'desc').limit(1);
  return toVersion(await rows.executeTakeFirst());
}

/** `version` is a number, `latest`, `default`, an id, or the name of a label of prompts of a workspace. */
export async function find(
  db: Db,
  of: Versions & { readonly workspace_id: string | null },
  version: string,
): Promise<StoredPromptVersion | undefined> {
  if (version === 'latest') return findLatest(db, of);
  const rows = ofResource(db, of).selectAll();
  if (isUuid(version)) {
    return toVersion(await rows.where('id', '=', idToBytes(version)).executeTakeFirst());
  }
  if (version === 'default' || /^\d{1,9}$/.test(version)) {
    const number = version === 'default' ? of.version_number : Number(version);
    return toVersion(await rows.where('number', '=', number).executeTakeFirst());
  }
  if (!/^[\w-]{1,255}$/.test(version)) return undefined;
  const label = await promptLabels.findByName(db, of, version);
  if (label === undefined) return undefined;
  return toVersion(await rows.where('label_id', '=', label.id).executeTakeFirst());
}

/** Fewer than bear no label are read anew each time. */
const rememberedMin = 200;

/**
 * Newest first. Contents are read a few at a time, as `rows` are asked for. Versions with a label are kept, so that there
 * may be as many as labels.
 */
export async function list(
  db: Db,
  of: Pick<Versions, 'id' | 'organisation_id'>,
  page: Page,
): Promise<{ rows: AsyncIterable<StoredPromptVersion>; total: number }> {
  const query = ofResource(db, of);
  const stamp = snapshotMarks.generationOf(sql`${of.organisation_id}`);
  const { rows: sized, total } = await listJoined(
    { db, stamp, orderedBy: 'number', rememberedMin },
    query,
    page,
    (found) =>
      found.select([
        'number',
        sql<string>`number`.as('id'),
        sql<number>`octet_length(content)`.as('bytes'),
      ]),
  );
  const inSlices = async function* () {
    for (const slice of slicesOfBytes(sized)) {
      const numbers = slice.map(({ number }) => number);
      const rows = query.selectAll().where('number', 'in', numbers).orderBy('number', 'desc');
      yield* (await rows.execute()).map((row) => toVersion(row));
    }
  };
  return { rows: inSlices(), total };
}

/** For what belongs to no version alone. */
export async function updateContent(
  tx: Db,
  of: Versions,
  number: number,
  content: string,
): Promise<void> {
  await tx
    .updateTable('prompt_versions')
    .set({ content })
    .where('organisation_id', '=', of.organisation_id)
    .where('resource_id', '=', idToBytes(of.id))
    .where('number', '=', number)
    .execute();
}

/** Puts a label on one version, in place of the one that it has, and takes it off the others. */
export async function updateLabel(
  tx: Db,
  of: Versions,
  number: number,
  labelId: string | null,
): Promise<void> {
  const versionsOf = tx
    .updateTable('prompt_versions')
    .where('organisation_id', '=', of.organisation_id)
    .where('resource_id', '=', idToBytes(of.id));
  if (labelId !== null) {
    await versionsOf.set({ label_id: null }).where('label_id', '=', labelId).execute();
  }
  await versionsOf.set({ label_id: labelId }).where('number', '=', number).execute();
}

/** Takes a label off every version that bears it. */
export async function clearLabel(tx: Db, organisationId: string, labelId: string): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .updateTable('prompt_versions')
    .set({ label_id: null })
    .where('organisation_id', '=', organisationId)
    .where('label_id', '=', labelId)
    .execute();
}
