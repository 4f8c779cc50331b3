/** Knows the snapshot_marks table: what tells two states of what an organisation's snapshot tells apart. */
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { folded, type MarkRow, marksOf } from './marks.ts';

declare module '../connection/db.ts' {
  interface Tables {
    snapshot_marks: MarkRow;
  }
}

export const { replaceOne, generationOf, stampOf } = marksOf('snapshot_marks');

const reading = statement((db, { organisationId }: { organisationId: string }) =>
  db
    .selectFrom('snapshot_marks')
    .select(['slot', 'mark'])
    .where('organisation_id', '=', organisationId)
    .orderBy('slot'),
);

/** All marks as one text. */
export async function read(db: Db, organisationId: string): Promise<string> {
  const rows = await reading.all(db, { organisationId });
  return rows.map(({ slot, mark }) => `${slot}:${mark.toString('hex')}`).join();
}

/** What `generationOf` says of several organisations; also of those that have never changed. */
export async function listGenerations(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('snapshot_marks as m')
    .select(['m.organisation_id', folded.as('generation')])
    .where('m.organisation_id', 'in', organisationIds)
    .groupBy('m.organisation_id')
    .execute();
  const found = new Map(rows.map((row) => [row.organisation_id, row.generation]));
  return new Map(organisationIds.map((id) => [id, found.get(id) ?? noMarks]));
}

/** What the fold of no marks at all is. */
const noMarks = '0';
