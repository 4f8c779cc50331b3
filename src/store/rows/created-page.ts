/** Reads one page of rows ordered by creation time and id, after or before a given row. */
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';

/** A row that bounds a page and is not part of it. */
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

/** Restricts and orders a query to one page. Reads one row more than the limit, which shows that more exist. */
export function createdPage<Schema, T extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, T, Row>,
  { order, limit, after, before }: CreatedPage,
): SelectQueryBuilder<Schema, T, Row> {
  return query
    .$if(after !== null, (all) => all.where(isBeyond(after!, order === 'asc' ? '>' : '<')))
    .$if(before !== null, (all) => all.where(isBeyond(before!, order === 'asc' ? '<' : '>')))
    .orderBy(sql.ref('created_at'), order)
    .orderBy(sql.ref('id'), order)
    .limit(limit + 1) as unknown as SelectQueryBuilder<Schema, T, Row>;
}

/** The first comparison is redundant and lets the database use an index. */
function isBeyond({ created_at: at, id }: CreatedAnchor, side: '<' | '>'): RawBuilder<SqlBool> {
  const than = sql.raw(side);
  return sql`(created_at ${than}= ${at} AND (created_at ${than} ${at} OR id ${than} ${id}))`;
}
