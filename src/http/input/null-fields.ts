/**
 * Treats null as "field omitted" in bodies of creates, as clients may send it (docs/reference/api.md, Null
 * and empty).
 */
import { z } from 'zod';
import type { Route } from '../routes/route.ts';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** In an update null clears a field; a create has nothing to clear. */
export function takesNullAsAbsent({ method, bodyType }: Pick<Route, 'method' | 'bodyType'>) {
  return method === 'POST' && bodyType !== 'form';
}

/**
 * Copies `value` without nulls that `schema` refuses in optional fields; null when there are none.
 * Entries of maps with free keys are not fields and are never removed.
 */
export function withoutNulls(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
): { readonly value: unknown } | null {
  const paths = issues
    .flatMap((issue) => pathsOfIssue(issue, []))
    .filter((path) => valueAt(value, path) === null && isOptionalField(schema, path));
  if (paths.length === 0) return null;
  const copy = structuredClone(value);
  for (const path of paths) {
    const holder = valueAt(copy, path.slice(0, -1));
    delete (holder as Record<PropertyKey, unknown>)[path.at(-1)!];
  }
  return { value: copy };
}

/** Paths of values with a wrong type, in any alternative of a union. */
function pathsOfIssue(issue: Issue, above: Path): Path[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    return [path, ...issue.errors.flat().flatMap((one) => pathsOfIssue(one, path))];
  }
  return issue.code === 'invalid_type' || issue.code === 'invalid_value' ? [path] : [];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => {
    const isHolder = typeof at === 'object' && at !== null && Object.hasOwn(at, key);
    return isHolder ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  }, value);
}

/** Whether the last key of `path` is an optional field in some alternative of the schema. */
function isOptionalField(schema: Schema, path: Path): boolean {
  const field = path.at(-1);
  if (typeof field !== 'string') return false;
  const holders = path
    .slice(0, -1)
    .reduce((at, key) => at.flatMap((one) => below(one, key)), alternativesOf(schema));
  return holders.some((one) => {
    const shape = shapeOf(one);
    return shape !== null && Object.hasOwn(shape, field) && isOptional(shape[field]!);
  });
}

function below(schema: Schema, key: PropertyKey): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return Object.hasOwn(def.shape, key) ? alternativesOf(def.shape[String(key)]!) : [];
    case 'array':
      return alternativesOf(def.element);
    case 'record':
      return alternativesOf(def.valueType);
    default:
      return [];
  }
}

/** The schemas that a wrapper or a union stands for. */
function alternativesOf(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return alternativesOf(def.innerType);
    case 'pipe':
      return alternativesOf(def.in);
    case 'lazy':
      return alternativesOf(def.getter());
    case 'union':
      return def.options.flatMap(alternativesOf);
    default:
      return [schema];
  }
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? def.shape : null;
}

/** A field of type `never` is not optional, so it may not be null either. */
export function isOptional(schema: Schema): boolean {
  const isNever = alternativesOf(schema).every(({ _zod }) => _zod.def.type === 'never');
  return !isNever && z.safeParse(schema, undefined).success;
}
