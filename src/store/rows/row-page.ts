/** Knows how rows are listed from one of them on, in the order in which they were made. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** Where a row stands: by when it was made, then by its id. */
interface RowPlace {
  readonly created_at: number;
  readonly id: string;
}

export interface RowPage {
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** Rows beyond which, and before which, those of the page stand; null for none. */
  readonly after: RowPlace | null;
  readonly before: RowPlace | null;
}

/** What rows of the page fulfil. */
export function beyond({ order, after, before }: RowPage): RawBuilder<SqlBool>[] {
  const bounds: RawBuilder<SqlBool>[] = [];
  if (after !== null) bounds.push(onOneSide(after, order === 'asc' ? '>' : '<'));
  if (before !== null) bounds.push(onOneSide(before, order === 'asc' ? '<' : '>'));
  return bounds;
}

/** The first half is what an index can find. */
function onOneSide({ created_at: at, id }: RowPlace, side: '<' | '>'): RawBuilder<SqlBool> {
  const than = sql.raw(side);
  return sql`(created_at ${than}= ${at} AND (created_at ${than} ${at} OR id ${than} ${id}))`;
}
