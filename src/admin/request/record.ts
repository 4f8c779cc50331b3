/**
 * Defines the API record of a stored row once, and derives its response schema, its mapping and its columns.
 */
import { z } from 'zod';
import { omitNulls, readDocument } from '../../model/wire/json-record.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';

/** Converts the column of the field's name. */
interface ColumnField<Schema extends z.ZodType, V> {
  readonly schema: Schema;
  readonly read: (value: V) => z.output<Schema>;
}

/** A value from the whole row. */
interface ComputedField<Schema extends z.ZodType, Row> {
  readonly schema: Schema;
  readonly compute: (row: Row) => z.output<Schema>;
}

/** A plain schema copies the column of the field's name. */
type Field = z.ZodType | ColumnField<z.ZodType, never> | ComputedField<z.ZodType, never>;
type Fields = Readonly<Record<string, Field>>;

type SchemaOf<F> = F extends { readonly schema: infer Schema extends z.ZodType } ? Schema : F;
type Shape<F extends Fields> = {
  -readonly [K in keyof F]: SchemaOf<F[K]> extends infer Schema extends z.ZodType ? Schema : never;
};

/** Rejects fields whose column is missing or has another type. */
type FieldsMatching<Row, F extends Fields> = {
  readonly [K in keyof F]: F[K] extends { readonly compute: (row: infer R) => unknown }
    ? Row extends R
      ? F[K]
      : never
    : K extends keyof Row
      ? F[K] extends { readonly read: (value: infer V) => unknown }
        ? Row[K] extends V
          ? F[K]
          : never
        : F[K] extends z.ZodType
          ? Row[K] extends z.output<F[K]>
            ? F[K]
            : never
          : never
      : never;
};

type ColumnName<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly compute: unknown } ? never : K;
}[keyof F] &
  string;

export interface RecordDefinition<Row, F extends Fields> {
  /** The fields, to extend or to compose them in another schema. */
  readonly shape: Shape<F>;
  readonly schema: z.ZodObject<Shape<F>>;
  /** Columns that the fields read, without those of computed fields. */
  readonly columns: readonly ColumnName<F>[];
  toRecord(row: Row): z.output<z.ZodObject<Shape<F>>>;
  /** A mapper to the body that would create the resource again, from these columns without nulls. */
  toSpec(...columns: readonly (keyof Row & string)[]): (row: Row) => Record<string, unknown>;
}

export const timestamp: ColumnField<typeof ResponseTimestamp, number> = {
  schema: ResponseTimestamp,
  read: formatTimestamp,
};

export const nullableTimestamp: ColumnField<
  z.ZodNullable<typeof ResponseTimestamp>,
  number | null
> = { schema: ResponseTimestamp.nullable(), read: formatTimestampOrNull };

/** An integer column as a boolean. */
export const flag: ColumnField<z.ZodBoolean, number> = {
  schema: z.boolean(),
  read: (value) => value !== 0,
};

/** An integer column as 0 or 1, because clients of this field cannot read a boolean. */
export const numericFlag: ColumnField<z.ZodLiteral<0 | 1>, number> = {
  schema: z.literal([0, 1]),
  read: (value) => (value === 0 ? 0 : 1),
};

/** A column of JSON text. */
export function document<Schema extends z.ZodType>(
  schema: Schema,
): ColumnField<z.ZodNullable<Schema>, string | null> {
  const read = (text: string | null) => readDocument<z.output<Schema>>(text);
  return { schema: schema.nullable(), read } as ColumnField<z.ZodNullable<Schema>, string | null>;
}

export function constant<const V extends string>(
  value: V,
): ComputedField<z.ZodLiteral<V>, unknown> {
  return { schema: z.literal(value), compute: () => value as never };
}

export function computed<Schema extends z.ZodType, Row>(
  schema: Schema,
  compute: (row: Row) => z.output<Schema>,
): ComputedField<Schema, Row> {
  return { schema, compute };
}

/** Called as `record<Row>()({ … })`, because TypeScript infers either all type arguments or none. */
export function record<Row extends object>() {
  return <const F extends Fields>(fields: F & FieldsMatching<Row, F>): RecordDefinition<Row, F> =>
    define<Row, F>(fields);
}

function define<Row extends object, F extends Fields>(fields: F): RecordDefinition<Row, F> {
  const entries = Object.entries<Field>(fields);
  const shape = Object.fromEntries(
    entries.map(([name, field]) => [name, 'schema' in field ? field.schema : field]),
  ) as Shape<F>;
  const readers = entries.map(([name, field]) => [name, readerOf(name, field)] as const);
  const columns = entries.filter(([, field]) => !('compute' in field)).map(([name]) => name);
  return {
    shape,
    schema: z.object(shape),
    columns: columns as ColumnName<F>[],
    toRecord: (row) => {
      const result: Record<string, unknown> = {};
      for (const [name, read] of readers) result[name] = read(row as Record<string, unknown>);
      return result as z.output<z.ZodObject<Shape<F>>>;
    },
    toSpec:
      (...names) =>
      (row) =>
        omitNulls(Object.fromEntries(names.map((name) => [name, row[name]]))),
  };
}

function readerOf(name: string, field: Field): (row: Record<string, unknown>) => unknown {
  if ('compute' in field) return (row) => field.compute(row as never);
  if ('read' in field) return (row) => field.read(row[name] as never);
  return (row) => row[name];
}
