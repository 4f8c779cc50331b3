/** Knows how rows are read page by page in the order in which they were made. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** Where a page begins or ends: beyond this row. */
export interface CreatedAnchor {
  readonly created_at: number;
  readonly id: string;
}

export interface CreatedPage {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly after: CreatedAnchor | null;
  readonly before: CreatedAnchor | null;
}

/** Condition of the rows between both anchors, of a table with `created_at` and `id`. */
export function isBetween({ order, after, before }: CreatedPage): RawBuilder<SqlBool> {
  const [forwards, backwards] = order === 'asc' ? (['>', '<'] as const) : (['<', '>'] as const);
  return sql<SqlBool>`${isBeyond(after, forwards)} and ${isBeyond(before, backwards)}`;
}

function isBeyond(at: CreatedAnchor | null, sign: '<' | '>'): RawBuilder<SqlBool> {
  if (at === null) return sql<SqlBool>`1 = 1`;
  const than = sql.raw(sign);
  const { created_at: moment, id } = at;
  return sql<SqlBool>`(created_at ${than} ${moment} or (created_at = ${moment} and id ${than} ${id}))`;
}
