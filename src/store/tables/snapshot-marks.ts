/** Knows the snapshot_marks table: what tells two states of an organisation apart without reading either. */
import { randomBytes } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { beforeCommit } from '../connection/before-commit.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';

interface SnapshotMarkRow {
  organisation_id: string;
  slot: number;
  mark: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    snapshot_marks: SnapshotMarkRow;
  }
}

/** So many can change an organisation at once without one waiting for the commit of another. */
const slots = 16;
const markBytes = 16;

const replacing = statement((tx, row: { [K in keyof SnapshotMarkRow]: SnapshotMarkRow[K] }) =>
  tx.insertInto('snapshot_marks').values(row).onDuplicateKeyUpdate({ mark: row.mark }),
);
const reading = statement((db, { organisationId }: { organisationId: string }) =>
  db
    .selectFrom('snapshot_marks')
    .select(['slot', 'mark'])
    .where('organisation_id', '=', organisationId)
    .orderBy('slot'),
);

/**
 * Whoever changes anything that the snapshot of an organisation tells says so here, in the transaction
 * of the change. Its last statement puts a new random mark in the place of one of sixteen.
 *
 * The marks that a transaction reads then name what it sees, and nothing else has the same: changes
 * under one slot come one after the other, because each holds the row until it is committed, so that
 * the mark found there names the last of them that is seen, and with it all before. A database that is
 * restored never comes to the same marks by other changes, as it would to the same numbers.
 */
export function replaceOne(tx: Db, organisationId: string): void {
  beforeCommit(tx, `snapshot_marks ${organisationId}`, async () => {
    const mark = randomBytes(markBytes);
    await replacing.all(tx, { organisation_id: organisationId, slot: mark[0]! % slots, mark });
  });
}

/** All marks as one text. */
export async function read(db: Db, organisationId: string): Promise<string> {
  const rows = await reading.all(db, { organisationId });
  return rows.map(({ slot, mark }) => `${slot}:${mark.toString('hex')}`).join();
}

/**
 * The marks of an organisation in one short text, for use within another statement, which then says
 * what it saw and under which marks: a look at them before or after could be of another moment. Eight
 * random bytes of each are enough to tell two states apart.
 */
export function generationOf(organisationId: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`(select ${folded} from snapshot_marks m where m.organisation_id = ${organisationId})`;
}

const folded = sql<string>`hex(bit_xor(cast(conv(hex(left(m.mark, 8)), 16, 10) as unsigned)))`;

/**
 * What is replaced whenever a row of an organisation's comes to a table, goes or changes: its marks, and
 * the newest row, which tells also of rows that were loaded by others than this program.
 */
export function stampOf(table: string, organisationId: string): RawBuilder<string> {
  const own = sql`${organisationId}`;
  const newest = sql`(select max(id) from ${sql.table(table)} where organisation_id = ${own})`;
  return sql<string>`concat(${generationOf(own)}, ' ', ${newest})`;
}

/** The same of several organisations; also of those that have never changed. */
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
