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

/** One condition, of which the statement's text depends on `shape` only. */
export interface Term {
  readonly column: string;
  readonly operator: Operator;
  readonly isNullMatched: boolean;
  /** Undefined for a comparison with null, which has no parameter. */
  readonly value: unknown;
  readonly shape: string;
}

/**
 * The terms of a predicate; null when it matches no row because a list is empty.
 *
 * @throws TypeError for an undefined value, which must not widen a delete.
 */
export function termsOf(where: Readonly<Record<string, unknown>>): Term[] | null {
  const terms: Term[] = [];
  for (const column in where) {
    const condition = where[column];
    if (condition === undefined) throw new TypeError(`the condition on ${column} is undefined`);
    const isComparison = condition instanceof Comparison;
    const operator = isComparison ? condition.operator : '=';
    const value: unknown = isComparison ? condition.value : condition;
    const isNullMatched = isComparison && condition.isNullMatched;
    if (Array.isArray(value) && value.length === 0) {
      if (operator === '=') return null;
      continue;
    }
    const kind = value === null ? 'null' : Array.isArray(value) ? 'list' : '';
    terms.push({
      column,
      operator,
      isNullMatched,
      value: value === null ? undefined : value,
      shape: `${column}${operator}${kind}${isNullMatched ? '|' : ''}`,
    });
  }
  return terms;
}

/** `slot` takes the place of the value. */
export function conditionOf(
  { column, operator, isNullMatched, value }: Term,
  slot: unknown,
): RawBuilder<boolean> {
  const name = sql.ref(column);
  if (value === undefined) {
    return operator === '=' ? sql<boolean>`${name} is null` : sql<boolean>`${name} is not null`;
  }
  const compared = comparisonOf(operator, name, value, slot);
  return isNullMatched ? sql<boolean>`(${name} is null or ${compared})` : compared;
}

function comparisonOf(
  operator: Operator,
  name: RawBuilder<unknown>,
  value: unknown,
  slot: unknown,
): RawBuilder<boolean> {
  // The driver writes a list as its elements, so that one text serves lists of every length.
  if (Array.isArray(value)) {
    return sql<boolean>`${name} ${sql.raw(operator === '=' ? 'in' : 'not in')} (${slot})`;
  }
  return sql<boolean>`${name} ${sql.raw(operator)} ${slot}`;
}
