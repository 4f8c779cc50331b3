/** Reads all that a gateway must know of changes in one statement: generations, and the head of the sealed snapshot. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { combined } from '../rows/marks.ts';
import type { HeadReading } from './snapshot-heads.ts';
import { headState } from './snapshot-heads.ts';

export interface ChangesRequest {
  /** Organisations whose generations are read. */
  readonly organisationIds: readonly string[];
  /** Lists all organisations that changed since then, by the clock of the database; null for none. */
  readonly sinceMs: number | null;
  /** Changes of this many milliseconds before `sinceMs` are listed too, or before now when it is null. */
  readonly overlapMs: number;
  /** Reads the head, unless it has this etag (null: none is known). */
  readonly head: { readonly known: Buffer | null } | null;
  /** Current shared time, in ms since the epoch; leases of runs that end before it have ended. */
  readonly now: number;
}

/** One of the sixteen marks of an organisation, and when it was last replaced. */
export interface MarkChange {
  readonly slot: number;
  /** By the clock of the database. */
  readonly changedAtMs: number;
}

export interface OrganisationChanges {
  /** The result of `generationOf` of snapshot_marks. */
  readonly generation: string;
  /** Marks that were replaced in the requested time. */
  readonly changes: readonly MarkChange[];
}

export interface ChangesReading {
  /** Time of the database. */
  readonly now: number;
  /** Without organisations that have no marks. */
  readonly organisations: ReadonlyMap<string, OrganisationChanges>;
  /** Null unless requested. */
  readonly head: HeadReading | null;
  /** Whether a run of any organisation has no driver. */
  readonly hasLostRuns: boolean;
}

interface ReadRow {
  /** '' for the time, `head` for the head, else an organisation. */
  readonly id: string;
  readonly generation: string | null;
  readonly changes: string | null;
  readonly etag: Buffer | null;
  readonly body: Buffer | null;
  readonly has_pending: number;
  readonly has_lost_runs: number;
  readonly now: number | string;
}

/** SQL expression: the stamp of a mark in milliseconds since the epoch. */
export const changedAtMs = sql<number>`TIMESTAMPDIFF(MICROSECOND, '1970-01-01', m.changed_at) DIV 1000`;

/** One query, whatever the number of organisations. */
export async function readChanges(db: Db, request: ChangesRequest): Promise<ChangesReading> {
  const { organisationIds, sinceMs, overlapMs, head } = request;
  const last = sql`LEAST(${sinceMs === null ? serverNowMs : sql`${sinceMs}`}, ${serverNowMs})`;
  const since = sql`TIMESTAMPADD(MICROSECOND, (${last} - ${overlapMs}) * 1000, '1970-01-01')`;
  const parts: RawBuilder<unknown>[] = [
    sql`SELECT '' AS id, NULL AS generation, NULL AS changes, NULL AS etag, NULL AS body,
      0 AS has_pending, ${serverNowMs} AS now,
      EXISTS (SELECT 1 FROM runs WHERE active = 1 AND lease_until <= ${request.now}) AS has_lost_runs`,
  ];
  if (head !== null) {
    parts.push(sql`SELECT 'head', NULL, NULL, h.etag, h.body, h.has_pending, h.now, 0
      FROM (${headState(head.known)}) h`);
  }
  if (organisationIds.length > 0) {
    const ids = sql.join(padded(organisationIds));
    parts.push(sql`SELECT m.organisation_id, ${combined}, ${changesSince(since)}, NULL, NULL, 0, 0, 0
      FROM snapshot_marks m WHERE m.organisation_id IN (${ids}) GROUP BY m.organisation_id`);
  }
  if (sinceMs !== null) {
    parts.push(sql`SELECT m.organisation_id, ${combined}, ${changesSince(since)}, NULL, NULL, 0, 0, 0
      FROM (SELECT DISTINCT organisation_id FROM snapshot_marks WHERE changed_at >= ${since}) c
      JOIN snapshot_marks m ON m.organisation_id = c.organisation_id GROUP BY m.organisation_id`);
  }
  const { rows } = await sql<ReadRow>`${sql.join(parts, sql` UNION ALL `)}`.execute(db);
  return readingOf(rows, head !== null);
}

function changesSince(since: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`GROUP_CONCAT(IF(m.changed_at >= ${since}, CONCAT(m.slot, ':', ${changedAtMs}), NULL))`;
}

/** Repeats the last id up to a power of two, so that few texts of the statement exist. */
function padded(ids: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(ids.length));
  return Array.from({ length }, (_, at) => ids[Math.min(at, ids.length - 1)]!);
}

function readingOf(rows: readonly ReadRow[], wantsHead: boolean): ChangesReading {
  const organisations = new Map<string, OrganisationChanges>();
  const noHead: HeadReading = { etag: null, body: null, hasPending: true, now: 0 };
  let [head, now, hasLostRuns] = [wantsHead ? noHead : null, 0, false];
  for (const row of rows) {
    if (row.id === '') {
      now = Number(row.now);
      hasLostRuns = Number(row.has_lost_runs) === 1;
    } else if (row.id === 'head') {
      const { etag, body, has_pending: pending } = row;
      head = { etag, body, hasPending: Number(pending) === 1, now: Number(row.now) };
    } else {
      const changes = changesOf(row.changes);
      organisations.set(row.id, { generation: row.generation!, changes });
    }
  }
  return { now, organisations, head, hasLostRuns };
}

function changesOf(text: string | null): MarkChange[] {
  if (text === null || text === '') return [];
  return text.split(',').map((change) => {
    const [slot, ms] = change.split(':');
    return { slot: Number(slot), changedAtMs: Number(ms) };
  });
}
