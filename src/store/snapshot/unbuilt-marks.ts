/** Finds organisations with changes that the sealed snapshot does not contain, without reading all of them. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import type { MarkRow } from '../rows/marks.ts';
import { changedAtMs, type MarkChange } from './changes.ts';

/** Column values of both tables of marks. */
interface BuiltMark {
  organisation_id: string;
  slot: number;
  mark: Buffer;
  changed_at_ms: number;
}

/** Only changes of what gateways read have a time. */
const changedAtOf = { snapshot_marks: changedAtMs, people_marks: sql<number>`0` };

export interface UnbuiltOrganisations {
  readonly organisationIds: readonly string[];
  /** Time of the database, before the marks were read. */
  readonly now: number;
}

/** One query, whatever the number of organisations; none is listed twice. */
export async function listUnbuilt(db: Db, limit: number): Promise<UnbuiltOrganisations> {
  const { rows } = await sql<{ id: string; now: number }>`
    SELECT '' AS id, ${serverNowMs} AS now
    UNION ALL (SELECT organisation_id, 0 FROM snapshot_marks WHERE is_built = 0 LIMIT ${sql.lit(limit)})
    UNION ALL (SELECT organisation_id, 0 FROM people_marks WHERE is_built = 0 LIMIT ${sql.lit(limit)})`.execute(
    db,
  );
  const ids = new Set(rows.map(({ id }) => id));
  ids.delete('');
  return { organisationIds: [...ids], now: Math.max(...rows.map(({ now }) => Number(now))) };
}

export interface OrganisationMarks {
  /** The result of `generationOf` of snapshot_marks. */
  readonly generation: string;
  /** As `generation`, of people_marks. */
  readonly peopleGeneration: string;
  readonly marks: readonly Buffer[];
  readonly peopleMarks: readonly Buffer[];
  /** When each mark of snapshot_marks was last replaced. */
  readonly changes: readonly MarkChange[];
}

/** The marks of several organisations, also of those without any. Read them before the rows that they cover. */
export async function listMarks(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, OrganisationMarks>> {
  const read = async (table: keyof typeof changedAtOf) => {
    const rows = await sql<BuiltMark>`
      SELECT organisation_id, slot, mark, ${changedAtOf[table]} AS changed_at_ms
      FROM ${sql.table(table)} m WHERE organisation_id IN (${sql.join(organisationIds)})`.execute(
      db,
    );
    return Map.groupBy(rows.rows, (row) => row.organisation_id);
  };
  const [own, people] = [await read('snapshot_marks'), await read('people_marks')];
  return new Map(
    organisationIds.map((id) => {
      const marks = (own.get(id) ?? []).map(({ mark }) => mark);
      const peopleMarks = (people.get(id) ?? []).map(({ mark }) => mark);
      return [
        id,
        {
          generation: generationFrom(marks),
          peopleGeneration: generationFrom(peopleMarks),
          marks,
          peopleMarks,
          changes: (own.get(id) ?? []).map(({ slot, changed_at_ms: ms }) => ({
            slot,
            changedAtMs: Number(ms),
          })),
        },
      ];
    }),
  );
}

/** The same combination as in SQL (store/rows/marks.ts). */
function generationFrom(marks: readonly MarkRow['mark'][]): string {
  let combined = 0n;
  for (const mark of marks) combined ^= mark.readBigUInt64BE(0);
  return combined.toString(16).toUpperCase();
}

/** Keeps the time of the change where a table has one. */
const unstamped = { snapshot_marks: sql`, changed_at = changed_at`, people_marks: sql`` };

/** Records that the published snapshot contains these marks; marks that were replaced meanwhile stay unbuilt. */
export async function updateBuilt(
  db: Db,
  read: ReadonlyMap<string, Pick<OrganisationMarks, 'marks' | 'peopleMarks'>>,
): Promise<void> {
  for (const table of ['snapshot_marks', 'people_marks'] as const) {
    const member = table === 'snapshot_marks' ? 'marks' : 'peopleMarks';
    const marks = [...read.values()].flatMap((one) => one[member]);
    if (marks.length === 0) continue;
    await sql`
      UPDATE ${sql.table(table)} SET built_mark = mark${unstamped[table]}
      WHERE organisation_id IN (${sql.join([...read.keys()])}) AND is_built = 0
        AND mark IN (${sql.join(marks)})`.execute(db);
  }
}
