/** Finds fields of a document that its schema does not define, and fields that have no effect here. */

import { z } from 'zod';
import { didYouMean } from '../../suggest.ts';
import { isObject } from '../json/read-object.ts';
import type { Fault } from './fault.ts';

/**
 * Name of the object in which a document may carry anything else. It is stored, returned and otherwise
 * ignored.
 */
export const extensionsField = 'extensions';
const knownListedMax = 12;

/** Fields of other gateways that a schema accepts although they have no effect. */
const withoutEffect = z.registry<{ readonly names: ReadonlySet<string> }>();

/**
 * Registers fields that an object may have without effect. They cause a warning instead of an error, so
 * that documents written for gateways with the same format can be saved.
 */
export function acceptWithoutEffect<Schema extends z.ZodObject>(
  schema: Schema,
  names: Iterable<string>,
): Schema {
  withoutEffect.add(schema, { names: new Set(names) });
  return schema;
}

/** Returns a fault for each unknown field of the open objects (`z.looseObject`) of a schema. */
export function unknownFieldFaults(schema: z.ZodType, value: unknown): Fault[] {
  return fieldsOutside(schema, value, []).flatMap(({ path, known, isIneffective }) =>
    isIneffective ? [] : [{ path, message: unknownFieldMessage(String(path.at(-1)), known) }],
  );
}

/** Like {@link unknownFieldFaults}, without the fields in which `others` finds a more specific fault. */
export function unknownFieldsBeside(
  schema: z.ZodType,
  value: unknown,
  others: readonly Fault[],
): Fault[] {
  const judged = new Set(others.map(({ path }) => path[0]));
  return [
    ...unknownFieldFaults(schema, value).filter(({ path }) => !judged.has(path[0]!)),
    ...others,
  ];
}

/** Returns the names that an open object accepts although they have no effect; null if it is not open. */
export function namesWithoutEffect(schema: unknown): readonly string[] | null {
  if (!(schema instanceof z.ZodObject) || !isOpenObject(schema)) return null;
  return [...(withoutEffect.get(schema)?.names ?? [])];
}

/** Returns a warning for each field that is accepted without effect. */
export function ineffectiveFields(schema: z.ZodType, value: unknown): Fault[] {
  return fieldsOutside(schema, value, []).flatMap(({ path, isIneffective }) =>
    isIneffective ? [{ path, message: 'has no effect in this gateway' }] : [],
  );
}

/** Completes the path of an unknown field to a sentence with the fix. */
function unknownFieldMessage(name: string, known: readonly string[]): string {
  if (name === extensionsField) return 'must be an object';
  const hint = didYouMean(name, known);
  if (hint !== undefined) return `is not a known field; ${hint}`;
  const list = known.length > knownListedMax ? '' : `known are ${known.join(', ')}; `;
  return `is not a known field; ${list}fields of your own belong into ${extensionsField}`;
}

interface OutsideField {
  readonly path: readonly (string | number)[];
  /** Fields that the object may have. */
  readonly known: readonly string[];
  readonly isIneffective: boolean;
}

type Path = readonly (string | number)[];

/** Recursion is bounded by the depth of the schema. */
function fieldsOutside(schema: z.ZodType, value: unknown, path: Path): OutsideField[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((item, at) =>
      fieldsOutside(inner.element as z.ZodType, item, [...path, at]),
    );
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return [];
  const { shape } = inner;
  const isOpen = isOpenObject(inner);
  return Object.entries(value).flatMap(([name, item]) => {
    const at = [...path, name];
    if (Object.hasOwn(shape, name)) return fieldsOutside(shape[name] as z.ZodType, item, at);
    if (!isOpen || (name === extensionsField && isObject(item))) return [];
    const isIneffective = withoutEffect.get(inner)?.names.has(name) ?? false;
    return [{ path: at, known: [...Object.keys(shape), extensionsField], isIneffective }];
  });
}

function isOpenObject(schema: z.ZodObject): boolean {
  return schema.def.catchall instanceof z.ZodUnknown;
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
