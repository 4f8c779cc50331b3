/** Translates conditions of SCIM filters to SQL, so that every condition is true or false and never null. */
import { type RawBuilder, sql } from 'kysely';
import type { ScimCondition } from '../../model/people/scim-filter.ts';

/** The column of each attribute by which the table is filtered. */
export type ScimColumns<A extends string = string> = Readonly<Record<A, RawBuilder<unknown>>>;

/** `someOf` selects the rows with the several values of one resource, to which a condition is added. */
export function whereScim(
  condition: ScimCondition,
  columns: ScimColumns,
  someOf: RawBuilder<unknown> | null = null,
): RawBuilder<boolean> {
  const translate = (one: ScimCondition): RawBuilder<boolean> => whereScim(one, columns, someOf);
  switch (condition.op) {
    case 'and':
    case 'or':
      return joined(condition.op, condition.conditions.map(translate));
    case 'not':
      return sql`not ${translate(condition.condition)}`;
    case 'some':
      return sql`exists (${someOf} and ${translate(condition.condition)})`;
    case 'pr':
      return present(columns[condition.attribute]!);
    default:
      return compared(condition, columns[condition.attribute]!);
  }
}

function joined(op: 'and' | 'or', conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> {
  if (conditions.length === 0) return op === 'and' ? sql`(1 = 1)` : sql`(1 = 0)`;
  return sql`(${sql.join(conditions, op === 'and' ? sql` and ` : sql` or `)})`;
}

/** An empty text counts as absent. */
function present(column: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${column} is not null and length(${column}) > 0)`;
}

type Comparison = Extract<ScimCondition, { readonly value: unknown }>;

function compared(
  { op, value }: Pick<Comparison, 'op' | 'value'>,
  column: RawBuilder<unknown>,
): RawBuilder<boolean> {
  if (op === 'ne') return sql`not ${compared({ op: 'eq', value }, column)}`;
  return sql`(${column} is not null and ${comparisons[op](column, value)})`;
}

const comparisons: Readonly<
  Record<
    Exclude<Comparison['op'], 'ne'>,
    (column: RawBuilder<unknown>, value: Comparison['value']) => RawBuilder<boolean>
  >
> = {
  eq: (column, value) => sql`${column} = ${value}`,
  gt: (column, value) => sql`${column} > ${value}`,
  ge: (column, value) => sql`${column} >= ${value}`,
  lt: (column, value) => sql`${column} < ${value}`,
  le: (column, value) => sql`${column} <= ${value}`,
  co: (column, value) => sql`locate(${value}, ${column}) > 0`,
  sw: (column, value) => sql`left(${column}, ${lengthOf(value)}) = ${value}`,
  ew: (column, value) => sql`right(${column}, ${lengthOf(value)}) = ${value}`,
};

/** In characters, not in UTF-16 units. */
function lengthOf(value: Comparison['value']): number {
  return [...String(value)].length;
}
