/** Knows the snapshot_marks table: what tells two states of an organisation apart without reading either. */
import { randomBytes } from 'node:crypto';
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
