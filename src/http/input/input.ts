/** Parses path parameters, query and body of a request by the route's schemas and reports their faults. */

import { z } from 'zod';
import {
  type BodyLimits,
  defaultBodyLimits,
  documentBodyLimits,
  documentSizeFault,
  formBodyLimits,
} from '../../model/json/body-limits.ts';
import { isObject } from '../../model/json/read-object.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { type Fault, faultsOfIssues } from '../../model/wire/fault.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Mount, Route } from '../routes/route.ts';
import { parseJson, parseJsonInTurns } from './json.ts';
import { takesNullAsAbsent, withoutNulls } from './null-fields.ts';

type Issue = z.core.$ZodIssue;

/** Parses path or query parameters; drops fields that the schema does not define. */
export function readLenient<T>(schema: z.ZodType<T>, value: unknown): T {
  return lenient(schema, value, schema.safeParse(value));
}

function lenient<T>(schema: z.ZodType<T>, value: unknown, first: z.ZodSafeParseResult<T>): T {
  if (first.success) return first.data;
  const unknown = first.error.issues.filter((issue) => issue.code === 'unrecognized_keys');
  if (unknown.length === 0) throw refusal(first.error.issues);
  const second = schema.safeParse(without(value, unknown));
  if (second.success) return second.data;
  throw refusal(second.error.issues);
}

function strict<T>(_schema: z.ZodType<T>, _value: unknown, result: z.ZodSafeParseResult<T>): T {
  if (result.success) return result.data;
  throw refusal(result.error.issues);
}

/** Turns the result of the first parse into a value or an error. */
type ResultHandler = typeof lenient;

/** Parses again without nulls that stand for omitted fields when the first parse fails. */
function parseWithoutNulls(
  schema: z.ZodType,
  value: unknown,
  judge: ResultHandler,
  route: BodyRoute,
): unknown {
  const first = schema.safeParse(value);
  if (first.success || !takesNullAsAbsent(route)) return judge(schema, value, first);
  const cleaned = withoutNulls(schema, value, first.error.issues);
  if (cleaned === null) return judge(schema, value, first);
  return judge(schema, cleaned.value, schema.safeParse(cleaned.value));
}

type BodyRoute = Pick<
  Route<never>,
  'method' | 'body' | 'ignoredFields' | 'bodyType' | 'bodyLimits'
>;

/**
 * Creates the parser of a route's body on one mount. v1 drops unknown fields, because its clients repeat
 * path values and send fields of other versions. The newer mounts refuse them, except the route's
 * `ignoredFields`. An absent body is parsed as `{}`.
 */
export function createBodyReader(
  route: BodyRoute,
  mount: Mount,
): (body: Buffer | undefined) => unknown {
  const { body: schema, bodyType = 'json' } = route;
  if (schema === undefined) return () => undefined;
  const limits = bodyLimitsOf(route);
  const read = createValueReader(route, schema, mount);
  const isEmpty = (body: Buffer | undefined): body is undefined =>
    body === undefined || body.length === 0;
  // Bodies larger than any document are parsed in pieces, so that the event loop stays responsive.
  if (limits.bytesMax > documentBodyLimits.bytesMax) {
    return async (body) => read(isEmpty(body) ? {} : await parseJsonInTurns(body, limits));
  }
  const decode = bodyType === 'form' ? parseForm : parseJson;
  return (body) => read(isEmpty(body) ? {} : decode(body, limits));
}

/**
 * Like {@link createBodyReader}, for a body that is part of another body and already parsed as JSON. The
 * same limits and the same schema apply.
 */
export function createInnerBodyReader(route: BodyRoute, mount: Mount): (value: unknown) => unknown {
  const { body: schema } = route;
  const limits = bodyLimitsOf(route);
  const read = schema === undefined ? refuseAny : createValueReader(route, schema, mount);
  return (value) => {
    if (value === undefined) return read({});
    const fault = documentSizeFault(value, limits);
    if (fault !== null) throw new ApiError('tooLarge', `The body ${fault}`);
    if (Buffer.byteLength(JSON.stringify(value)) > limits.bytesMax) throw new ApiError('tooLarge');
    return read(value);
  };
}

function refuseAny(value: unknown): undefined {
  if (!isObject(value) || Object.keys(value).length === 0) return undefined;
  const [field] = Object.keys(value);
  throw validationError({ path: [field!], message: 'is not a known field' });
}

function createValueReader(
  route: BodyRoute,
  schema: z.ZodType,
  mount: Mount,
): (value: unknown) => unknown {
  const { ignoredFields = [], bodyType = 'json' } = route;
  if (mount === 'v1' || bodyType === 'form') {
    return (value) => parseWithoutNulls(schema, value, lenient, route);
  }
  const knownFields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const ignored = ignoredFields.filter((field) => !knownFields.includes(field));
  // Created on first use: most processes serve only a few of their routes.
  let closed: z.ZodType | undefined;
  return (value) => {
    closed ??= refuseUnknown(schema);
    return parseWithoutNulls(closed, omit(value, ignored), strict, route);
  };
}

/** The route's own limits, or the defaults of its body type. */
export function bodyLimitsOf({
  bodyType,
  bodyLimits,
}: Pick<Route, 'bodyType' | 'bodyLimits'>): BodyLimits {
  return bodyLimits ?? (bodyType === 'form' ? formBodyLimits : defaultBodyLimits);
}

/** Makes an object schema refuse unknown fields unless its author decided otherwise. */
export function refuseUnknown(schema: z.ZodType): z.ZodType {
  const closes = schema instanceof z.ZodObject && schema.def.catchall === undefined;
  return closes ? schema.strict().meta(schema.meta() ?? {}) : schema;
}

function parseForm(body: Buffer, { valuesMax }: BodyLimits): Record<string, string | string[]> {
  const form = new URLSearchParams(body.toString('utf8'));
  if (form.size > valuesMax) {
    throw new ApiError('tooLarge', `The form has more than ${valuesMax} fields`);
  }
  return parseFields(form);
}

/** A repeated field becomes a list, so that a schema of strings refuses it. */
export function parseFields(form: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(form.keys())].map((key) => {
      const values = form.getAll(key);
      return [key, values.length === 1 ? values[0]! : values];
    }),
  );
}

function omit(value: unknown, keys: readonly string[]): unknown {
  if (keys.length === 0 || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** Copies `value` without the keys that the issues list. */
function without(value: unknown, unknownKeys: readonly Issue[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of unknownKeys) {
    if (issue.code !== 'unrecognized_keys') continue;
    const parent = issue.path.reduce<unknown>(
      (at, key) => (at as Record<PropertyKey, unknown>)[key],
      copy,
    );
    for (const key of issue.keys) delete (parent as Record<string, unknown>)[key];
  }
  return copy;
}

/** Combines all issues of a schema in one error. */
function refusal(issues: readonly Issue[]): ApiError {
  return validationError(...issues.flatMap(faultsOf));
}

function faultsOf(issue: Issue): Fault[] {
  if (issue.code !== 'unrecognized_keys') return faultsOfIssues([issue]);
  return faultsOfIssues(
    issue.keys.map((key) => ({
      ...issue,
      path: [...issue.path, key],
      message: 'is not a known field',
    })),
  );
}
