/** Table functions for snapshot_marks: change markers of everything in an organisation's snapshot. */
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { combined, type MarkRow, marksOf } from './marks.ts';

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

/** The result of `generationOf` for several organisations, including those without marks. */
export async function listGenerations(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('snapshot_marks as m')
    .select(['m.organisation_id', combined.as('generation')])
    .where('m.organisation_id', 'in', organisationIds)
    .groupBy('m.organisation_id')
    .execute();
  const found = new Map(rows.map((row) => [row.organisation_id, row.generation]));
  return new Map(organisationIds.map((id) => [id, found.get(id) ?? noMarks]));
}

/** The generation of an organisation without marks. */
const noMarks = '0';
