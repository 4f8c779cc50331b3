/** Builds the common parts of manifest JSON Schemas: variables in values, names, alternatives. */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** A value that is exactly one variable takes the type that its field needs. */
const wholeVariable = String.raw`^\$\{[^}]*\}$`;
/** Returns whether text passes only as a variable. */
export function isWholeVariable({ pattern }: JsonSchema): boolean {
  return pattern === wholeVariable;
}

/** Text with a variable in it may become anything. */
export const anyVariable = String.raw`\$\{`;

/**
 * Returns the schema extended to accept a variable. JSON Schema keywords apply to one type each, so
 * the pattern of the text does not affect a number.
 */
export function orVariable(schema: JsonSchema): JsonSchema {
  const { type, enum: words, const: word, pattern, format, ...rest } = schema;
  const { description, default: fallback, examples, ...judging } = rest;
  const notes = { ...(description === undefined ? {} : { description }) };
  const annotations = {
    ...notes,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(examples === undefined ? {} : { examples }),
  };
  if (words !== undefined || word !== undefined) {
    const named = words ?? [word];
    return { ...annotations, anyOf: [{ enum: named }, { type: 'string', pattern: wholeVariable }] };
  }
  if (type === 'string') {
    if (typeof pattern !== 'string') return { ...annotations, type, ...judging };
    const patternErrorMessage =
      formWords.get(format) ?? 'This text does not have the form of the field.';
    const form = { pattern: `(?:${pattern})|${anyVariable}`, patternErrorMessage };
    return { ...annotations, type, ...judging, ...form };
  }
  return { ...annotations, ...judging, type: [type, 'string'].flat(), pattern: wholeVariable };
}

/** Messages for editors, which would otherwise show the pattern. */
const formWords: ReadonlyMap<unknown, string> = new Map([
  ['date-time', 'Must be a date-time with Z or an offset, such as 2030-01-01T00:00:00Z.'],
  ['email', 'Must be an e-mail address.'],
  ['uuid', 'Must be a UUID.'],
]);

/** Returns whether a schema describes a single value: text, number, boolean. */
export function isScalar({ type, enum: words, const: word }: JsonSchema): boolean {
  if (words !== undefined || word !== undefined) return true;
  return [type].flat().some((name) => scalarTypes.has(name));
}

const scalarTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);

/** Returns the schema extended to accept null. */
export function orNull(schema: JsonSchema): JsonSchema {
  if (takesNull(schema)) return schema;
  if (typeof schema.type === 'string' || Array.isArray(schema.type)) {
    return { ...schema, type: [schema.type, 'null'].flat() };
  }
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, nothing] };
  const { description, ...rest } = schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, nothing] };
}

export function takesNull({ type, anyOf }: JsonSchema): boolean {
  const alternatives = (anyOf ?? []) as readonly JsonSchema[];
  return [type].flat().includes('null') || alternatives.some(takesNull);
}

const nothing: JsonSchema = { type: 'null' };

/** A map with exactly these keys. */
export function closedMap(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** Applies one schema to values that pass `condition`, and another to the rest. */
export function conditionalSchema(
  condition: JsonSchema,
  then: JsonSchema,
  other?: JsonSchema,
): JsonSchema {
  const branches = { if: condition, ...(other === undefined ? {} : { else: other }) };
  return Object.assign(branches, Object.fromEntries([['then', then]]));
}
