/** Knows the parts that the JSON Schemas of manifests are made of: variables in values, names, alternatives. */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** A value that is one variable and nothing else takes the type that its field needs. */
const wholeVariable = String.raw`^\$\{[^}]*\}$`;
/** Whether text passes as a variable only. */
export function isWholeVariable({ pattern }: JsonSchema): boolean {
  return pattern === wholeVariable;
}

/** Text with a variable in it may come to anything. */
export const anyVariable = String.raw`\$\{`;

/**
 * The same schema, which a text that is a variable passes too. Keywords of JSON Schema judge one type
 * each, so that the form of the text says nothing about a number beside it.
 */
export function orVariable(schema: JsonSchema): JsonSchema {
  const { type, enum: words, const: word, pattern, format, ...rest } = schema;
  const { description, default: fallback, examples, ...judging } = rest;
  const notes = { ...(description === undefined ? {} : { description }) };
  const shown = {
    ...notes,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(examples === undefined ? {} : { examples }),
  };
  if (words !== undefined || word !== undefined) {
    const named = words ?? [word];
    return { ...shown, anyOf: [{ enum: named }, { type: 'string', pattern: wholeVariable }] };
  }
  if (type === 'string') {
    if (typeof pattern !== 'string') return { ...shown, type, ...judging };
    const patternErrorMessage =
      formWords.get(format) ?? 'This text does not have the form of the field.';
    const form = { pattern: `(?:${pattern})|${anyVariable}`, patternErrorMessage };
    return { ...shown, type, ...judging, ...form };
  }
  return { ...shown, ...judging, type: [type, 'string'].flat(), pattern: wholeVariable };
}

/** Said by editors, which would show the pattern itself. */
const formWords: ReadonlyMap<unknown, string> = new Map([
  ['date-time', 'Must be a date-time with Z or an offset, such as 2030-01-01T00:00:00Z.'],
  ['email', 'Must be an e-mail address.'],
  ['uuid', 'Must be a UUID.'],
]);

/** Whether a schema is of a single value: text, number, yes or no. */
export function isScalar({ type, enum: words, const: word }: JsonSchema): boolean {
  if (words !== undefined || word !== undefined) return true;
  return [type].flat().some((name) => scalarTypes.has(name));
}

const scalarTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);

/** The same schema, which null passes too. */
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

/** A map with these keys and no others. */
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

/** What holds of a value that passes `condition`, and of one that does not. */
export function choice(condition: JsonSchema, then: JsonSchema, other?: JsonSchema): JsonSchema {
  const branches = { if: condition, ...(other === undefined ? {} : { else: other }) };
  return Object.assign(branches, Object.fromEntries([['then', then]]));
}
