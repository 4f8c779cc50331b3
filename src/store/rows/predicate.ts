/** Conditions on the columns of one table: equality, lists, nulls and bounds. */
import { type RawBuilder, sql } from 'kysely';

type Operator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** A condition other than equality. */
export class Comparison<V> {
  readonly operator: Operator;
  readonly value: V | readonly V[];
  /** Whether a null in the column also matches. */
  readonly isNullMatched: boolean;

  constructor(operator: Operator, value: V | readonly V[], isNullMatched = false) {
    this.operator = operator;
    this.value = value;
    this.isNullMatched = isNullMatched;
  }
}

/** A condition on a column: a value, a list of alternatives, or a comparison. */
export type Condition<V> = V | readonly V[] | Comparison<NonNullable<V>> | Comparison<V>;

/** Also for a list, of which the column must be none, and for null. */
export function not<V>(value: V | readonly V[]): Comparison<V> {
  return new Comparison('<>', value);
}

export function lessThan<V>(value: V): Comparison<V> {
  return new Comparison('<', value);
}

export function atMost<V>(value: V): Comparison<V> {
  return new Comparison('<=', value);
}

export function moreThan<V>(value: V): Comparison<V> {
  return new Comparison('>', value);
}

export function atLeast<V>(value: V): Comparison<V> {
  return new Comparison('>=', value);
}

export function nullOr<V>({ operator, value }: Comparison<V>): Comparison<V> {
  return new Comparison(operator, value, true);
}

type Where = Readonly<Record<string, unknown>>;

interface Term {
  readonly operator: Operator;
  readonly value: unknown;
  readonly isNullMatched: boolean;
}

/**
 * Appends the values of a predicate to `values` and returns what determines its SQL text. Null when it
 * matches no row because a list is empty.
 *
 * @throws TypeError for an undefined value, which must not widen a delete
 */
export function predicateShape(where: Where, values: unknown[]): string | null {
  let shape = '';
  for (const column in where) {
    const condition = where[column];
    if (typeof condition === 'string' || typeof condition === 'number') {
      shape += `${column}=,`;
      values.push(condition);
      continue;
    }
    const { operator, value, isNullMatched } = termOf(column, condition);
    if (value === null) {
      shape += `${column}${operator}null,`;
    } else if (!Array.isArray(value)) {
      shape += `${column}${operator}${isNullMatched},`;
      values.push(value);
    } else if (value.length > 0) {
      shape += `${column}${operator}list,`;
      values.push(value);
    } else if (operator === '=') {
      return null;
    }
  }
  return shape;
}

function termOf(column: string, condition: unknown): Term {
  if (condition === undefined) throw new TypeError(`the condition on ${column} is undefined`);
  if (condition instanceof Comparison) return condition;
  return { operator: '=', value: condition, isNullMatched: false };
}

/** The SQL conditions of a predicate. `values` takes the place of its values, in the order of {@link predicateShape}. */
export function conditionsOf(where: Where, values: Iterator<unknown>): RawBuilder<boolean>[] {
  const conditions: RawBuilder<boolean>[] = [];
  for (const column in where) {
    const { operator, value, isNullMatched } = termOf(column, where[column]);
    const name = sql.ref(column);
    if (value === null) {
      conditions.push(sql`${name} ${sql.raw(operator === '=' ? 'is null' : 'is not null')}`);
    } else if (!Array.isArray(value)) {
      const compared = sql<boolean>`${name} ${sql.raw(operator)} ${values.next().value}`;
      conditions.push(isNullMatched ? sql`(${name} is null or ${compared})` : compared);
    } else if (value.length > 0) {
      // The driver writes a list as its elements, so that one text serves lists of every length.
      const within = sql.raw(operator === '=' ? 'in' : 'not in');
      conditions.push(sql`${name} ${within} (${values.next().value})`);
    }
  }
  return conditions;
}
