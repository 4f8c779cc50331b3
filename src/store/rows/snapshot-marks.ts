/** Table functions for snapshot_marks: change markers of everything in an organisation's snapshot. */
import { ApiError } from '../../model/wire/errors.ts';
import { beforeCommit } from '../connection/before-commit.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { unlessDuplicate } from './duplicate.ts';
import { combined, type MarkRow, markBytes, markKey, marksOf, randomMark, slots } from './marks.ts';
import { not } from './predicate.ts';
import { rows } from './rows.ts';

declare module '../connection/db.ts' {
  interface Tables {
    snapshot_marks: MarkRow;
  }
}

export const { replaceOne, generationOf, stampOf } = marksOf('snapshot_marks');

const table = rows('snapshot_marks');

/** Mark of every slot of a closed organisation; no random mark equals it. */
const closedMark = Buffer.alloc(markBytes);

/**
 * As `replaceOne`, for a transaction that adds rows. One statement both replaces the mark and requires
 * that the organisation is not closed.
 *
 * @throws ApiError `notFound` before the commit when it is closed
 */
export function replaceForInsert(tx: Db, organisationId: string): void {
  beforeCommit(tx, markKey('snapshot_marks', organisationId), async () => {
    const { mark, ...place } = randomMark(organisationId);
    const isReplaced = async () =>
      (await table.update(tx, { ...place, mark: not(closedMark) }, { mark })) === 1;
    if (await isReplaced()) return;
    const isFirst = await unlessDuplicate(table.insert(tx, { ...place, mark }));
    // Either closed, or inserted by another transaction in the meantime.
    if (!isFirst && !(await isReplaced())) throw new ApiError('notFound');
  });
}

/**
 * Lets no transaction commit any more that adds rows, and waits for those that are committing. Rows that
 * were added before are visible afterwards.
 */
export async function closeOrganisation(tx: Db, organisationId: string): Promise<void> {
  const row = (slot: number) => ({ organisation_id: organisationId, slot, mark: closedMark });
  await tx
    .insertInto('snapshot_marks')
    .values(Array.from({ length: slots }, (_, slot) => row(slot)))
    .onDuplicateKeyUpdate({ mark: closedMark })
    .execute();
}

const reading = statement((db, { organisationId }: { organisationId: string }) =>
  db
    .selectFrom('snapshot_marks')
    .select(['slot', 'mark'])
    .where('organisation_id', '=', organisationId)
    .orderBy('slot'),
);

/** All marks as one text. */
export async function read(db: Db, organisationId: string): Promise<string> {
  const found = await reading.all(db, { organisationId });
  return found.map(({ slot, mark }) => `${slot}:${mark.toString('hex')}`).join();
}

/** The result of `generationOf` for several organisations, including those without marks. */
export async function listGenerations(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, string>> {
  const generations = await db
    .selectFrom('snapshot_marks as m')
    .select(['m.organisation_id', combined.as('generation')])
    .where('m.organisation_id', 'in', organisationIds)
    .groupBy('m.organisation_id')
    .execute();
  const found = new Map(generations.map((row) => [row.organisation_id, row.generation]));
  return new Map(organisationIds.map((id) => [id, found.get(id) ?? noMarks]));
}

/** The generation of an organisation without marks. */
export const noMarks = '0';
