/** Knows how a request's parts become the values of a route's schemas, and how faults in them read. */
import { z } from 'zod';
import {
  type BodyLimits,
  documentBody,
  documentSizeFault,
  formBody,
  usualBody,
} from '../model/body-limits.ts';
import { ApiError } from '../model/errors.ts';
import { type Fault, faultsOfIssues } from '../model/fault.ts';
import { validationError } from '../model/validation-error.ts';
import { parseJson, parseJsonInTurns } from './json.ts';
import { takesNullAsAbsent, withoutNulls } from './null-fields.ts';
import type { Mount, Route } from './route.ts';

type Issue = z.core.$ZodIssue;

/** Reads path parameters, query or body. Fields that the schema does not know are dropped. */
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

/** How the faults of a first reading are judged. */
type Judge = typeof lenient;

/** As the judge says, once nulls that stand for fields left out are taken away. */
function readAsSent(schema: z.ZodType, value: unknown, judge: Judge, route: ReadsBody): unknown {
  const first = schema.safeParse(value);
  if (first.success || !takesNullAsAbsent(route)) return judge(schema, value, first);
  const cleaned = withoutNulls(schema, value, first.error.issues);
  if (cleaned === null) return judge(schema, value, first);
  return judge(schema, cleaned.value, schema.safeParse(cleaned.value));
}

type ReadsBody = Pick<
  Route<never>,
  'method' | 'body' | 'ignoredFields' | 'bodyType' | 'bodyLimits'
>;

/**
 * Makes the reader of a route's body on one mount: v1 drops unknown fields, because its clients
 * repeat path values and send fields of other versions; the newer mounts refuse them, save
 * those the route says it ignores. An absent body reads as `{}`.
 */
export function createBodyReader(
  route: ReadsBody,
  mount: Mount,
): (body: Buffer | undefined) => unknown {
  const { body: schema, bodyType = 'json' } = route;
  if (schema === undefined) return () => undefined;
  const limits = bodyLimitsOf(route);
  const read = createValueReader(route, schema, mount);
  const isEmpty = (body: Buffer | undefined): body is undefined =>
    body === undefined || body.length === 0;
  // What is larger than any document is read with turns for others between.
  if (limits.bytesMax > documentBody.bytesMax) {
    return async (body) => read(isEmpty(body) ? {} : await parseJsonInTurns(body, limits));
  }
  const decode = bodyType === 'form' ? parseForm : parseJson;
  return (body) => read(isEmpty(body) ? {} : decode(body, limits));
}

/**
 * As {@link createBodyReader}, for a body that stood in another one and has been read with it: held
 * against the same bounds and the same schema.
 */
export function createHeldBodyReader(route: ReadsBody, mount: Mount): (value: unknown) => unknown {
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
  if (!isRecord(value) || Object.keys(value).length === 0) return undefined;
  const [field] = Object.keys(value);
  throw validationError({ path: [field!], message: 'is not a known field' });
}

function createValueReader(
  route: ReadsBody,
  schema: z.ZodType,
  mount: Mount,
): (value: unknown) => unknown {
  const { ignoredFields = [], bodyType = 'json' } = route;
  if (mount === 'v1' || bodyType === 'form') {
    return (value) => readAsSent(schema, value, lenient, route);
  }
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const ignored = ignoredFields.filter((field) => !known.includes(field));
  // Made when first asked: most processes are asked little of what they offer.
  let closed: z.ZodType | undefined;
  return (value) => {
    closed ??= refuseUnknown(schema);
    return readAsSent(closed, omit(value, ignored), strict, route);
  };
}

/** What a route says of its body, or else what its kind of body is granted. */
export function bodyLimitsOf({
  bodyType,
  bodyLimits,
}: Pick<Route, 'bodyType' | 'bodyLimits'>): BodyLimits {
  return bodyLimits ?? (bodyType === 'form' ? formBody : usualBody);
}

/** Closes an object schema that its author left open to unknown fields by default. */
export function refuseUnknown(schema: z.ZodType): z.ZodType {
  const closes = schema instanceof z.ZodObject && schema.def.catchall === undefined;
  return closes ? schema.strict().meta(schema.meta() ?? {}) : schema;
}

/** A repeated field reads as a list, so that a schema of strings refuses it. */
function parseForm(body: Buffer, { valuesMax }: BodyLimits): Record<string, string | string[]> {
  const form = new URLSearchParams(body.toString('utf8'));
  if (form.size > valuesMax) {
    throw new ApiError('tooLarge', `The form has more than ${valuesMax} fields`);
  }
  return Object.fromEntries(
    [...new Set(form.keys())].map((key) => {
      const values = form.getAll(key);
      return [key, values.length === 1 ? values[0]! : values];
    }),
  );
}

function omit(value: unknown, keys: readonly string[]): unknown {
  if (keys.length === 0 || !isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** Copies `value` without the keys that the issues name. */
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One error for all that a schema found. */
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
