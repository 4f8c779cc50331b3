/** Knows where null stands for a field that is left out: in bodies of creates, whose clients may say so (docs/api.md, Null and empty). */
import { z } from 'zod';
import type { Route } from './route.ts';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** In an update null clears; where something is made there is nothing to clear. */
export function takesNullAsAbsent({ method, bodyType }: Pick<Route, 'method' | 'bodyType'>) {
  return method === 'POST' && bodyType !== 'form';
}

/**
 * A copy of `value` without the nulls that `schema` does not take, of fields that may be left out; null
 * when there are none. Entries of free maps are none of its fields, and are never taken away.
 */
export function withoutNulls(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
): { readonly value: unknown } | null {
  const places = issues
    .flatMap((issue) => placesOf(issue, []))
    .filter((path) => valueAt(value, path) === null && mayBeLeftOut(schema, path));
  if (places.length === 0) return null;
  const copy = structuredClone(value);
  for (const path of places) {
    const holder = valueAt(copy, path.slice(0, -1));
    delete (holder as Record<PropertyKey, unknown>)[path.at(-1)!];
  }
  return { value: copy };
}

/** Where a value is of a wrong type, in any of the alternatives. */
function placesOf(issue: Issue, above: Path): Path[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    return [path, ...issue.errors.flat().flatMap((one) => placesOf(one, path))];
  }
  return issue.code === 'invalid_type' || issue.code === 'invalid_value' ? [path] : [];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => {
    const isHolder = typeof at === 'object' && at !== null && Object.hasOwn(at, key);
    return isHolder ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  }, value);
}

/** Whether the last key of `path` is a field that some reading of the schema lets go. */
function mayBeLeftOut(schema: Schema, path: Path): boolean {
  const field = path.at(-1);
  if (typeof field !== 'string') return false;
  const holders = path
    .slice(0, -1)
    .reduce((at, key) => at.flatMap((one) => below(one, key)), readingsOf(schema));
  return holders.some((one) => {
    const shape = shapeOf(one);
    return shape !== null && Object.hasOwn(shape, field) && isOptional(shape[field]!);
  });
}

function below(schema: Schema, key: PropertyKey): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return Object.hasOwn(def.shape, key) ? readingsOf(def.shape[String(key)]!) : [];
    case 'array':
      return readingsOf(def.element);
    case 'record':
      return readingsOf(def.valueType);
    default:
      return [];
  }
}

/** What may stand behind a schema: itself without what wraps it, or each of its alternatives. */
function readingsOf(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return readingsOf(def.innerType);
    case 'pipe':
      return readingsOf(def.in);
    case 'lazy':
      return readingsOf(def.getter());
    case 'union':
      return def.options.flatMap(readingsOf);
    default:
      return [schema];
  }
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? def.shape : null;
}

/** What may not be said at all may not be null either. */
export function isOptional(schema: Schema): boolean {
  const isNever = readingsOf(schema).every(({ _zod }) => _zod.def.type === 'never');
  return !isNever && z.safeParse(schema, undefined).success;
}
