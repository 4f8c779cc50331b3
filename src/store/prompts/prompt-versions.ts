/** Table functions for prompt_versions: the versions of prompts and partials, and their labels. */
import { type Selectable, sql } from 'kysely';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import type { Db } from '../connection/db.ts';
import { listJoined, slicesOfBytes } from '../rows/paging.ts';
import { type VersionRow, versionTable } from '../rows/resource-versions.ts';
import { rows } from '../rows/rows.ts';
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
const table = rows('prompt_versions');

export const { deleteVersions } = versions;

/** A prompt or partial that has versions. */
interface VersionedResource {
  readonly id: string;
  readonly organisation_id: string;
  /** Number of the published version. */
  readonly version_number: number;
}

/** Returns the number of the new version. The published version and labelled ones are never deleted. */
export function insertVersion(
  tx: Db,
  of: VersionedResource,
  version: Pick<StoredPromptVersion, 'id' | 'name' | 'content' | 'created_by' | 'created_at'>,
): Promise<number> {
  snapshotMarks.replaceOne(tx, of.organisation_id);
  const isRetained = sql<boolean>`(number = ${of.version_number} or label_id is not null)`;
  return versions.insertVersion(
    tx,
    { ...version, organisation_id: of.organisation_id, resource_id: of.id, label_id: null },
    isRetained,
  );
}

const ofResource = ({
  id,
  organisation_id,
}: Pick<VersionedResource, 'id' | 'organisation_id'>) => ({
  organisation_id,
  resource_id: idToBytes(id),
});

function toVersion(row: Selectable<PromptVersionRow>): StoredPromptVersion;
function toVersion(row: Selectable<PromptVersionRow> | undefined): StoredPromptVersion | undefined;
function toVersion(row: Selectable<PromptVersionRow> | undefined): StoredPromptVersion | undefined {
  if (row === undefined) return undefined;
  const { resource_id: _, ...rest } = row;
  return { ...rest, id: idFromBytes(row.id) };
}

export async function findLatest(
  db: Db,
  of: Pick<VersionedResource, 'id' | 'organisation_id'>,
): Promise<StoredPromptVersion | undefined> {
  return toVersion(await table.findFirst(db, ofResource(of), { orderBy: ['number desc'] }));
}

/** `version` is a number, `latest`, `default` (the published one), an id, or the name of a label. */
export async function find(
  db: Db,
  of: VersionedResource & { readonly workspace_id: string | null },
  version: string,
): Promise<StoredPromptVersion | undefined> {
  if (version === 'latest') return findLatest(db, of);
  if (isUuid(version)) {
    return toVersion(await table.find(db, { ...ofResource(of), id: idToBytes(version) }));
  }
  if (version === 'default' || /^\d{1,9}$/.test(version)) {
    const number = version === 'default' ? of.version_number : Number(version);
    return toVersion(await table.find(db, { ...ofResource(of), number }));
  }
  if (!/^[\w-]{1,255}$/.test(version)) return undefined;
  const label = await promptLabels.findByName(db, of, version);
  if (label === undefined) return undefined;
  return toVersion(await table.findFirst(db, { ...ofResource(of), label_id: label.id }));
}

/** Shorter lists are counted each time. */
const rememberedMin = 200;

/**
 * Newest first. `rows` reads contents in batches while it is iterated. Labelled versions are never
 * deleted, so that a prompt can have as many versions as there are labels.
 */
export async function list(
  db: Db,
  of: Pick<VersionedResource, 'id' | 'organisation_id'>,
  page: Page,
): Promise<{ rows: AsyncIterable<StoredPromptVersion>; total: number }> {
  const query = table.matching(db, ofResource(of));
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
      const some = query.selectAll().where('number', 'in', numbers).orderBy('number', 'desc');
      yield* (await some.execute()).map((row) => toVersion(row));
    }
  };
  return { rows: inSlices(), total };
}

/** For content that all versions share. */
export async function updateContent(
  tx: Db,
  of: VersionedResource,
  number: number,
  content: string,
): Promise<void> {
  await table.update(tx, { ...ofResource(of), number }, { content });
}

/** Moves a label to one version and replaces that version's label; null only removes it. */
export async function updateLabel(
  tx: Db,
  of: VersionedResource,
  number: number,
  labelId: string | null,
): Promise<void> {
  if (labelId !== null) {
    await table.update(tx, { ...ofResource(of), label_id: labelId }, { label_id: null });
  }
  await table.update(tx, { ...ofResource(of), number }, { label_id: labelId });
}

/** Removes a label from every version. */
export async function clearLabel(tx: Db, organisationId: string, labelId: string): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  const where = { organisation_id: organisationId, label_id: labelId };
  await table.update(tx, where, { label_id: null });
}
