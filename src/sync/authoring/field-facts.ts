/** Describes the type, the bounds and an example of a field from its JSON Schema. */
import { isWholeVariable, type JsonSchema } from './json-schema.ts';

type Resolve = (schema: JsonSchema) => JsonSchema;

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'map',
};

/**
 * `list of whole number`, `one of cost, tokens`; variables, which every value may be, are not
 * mentioned.
 */
export function typeText(given: JsonSchema, resolve: Resolve): string {
  const schema = resolve(given);
  const { type, enum: words, const: word, anyOf, allOf, items, properties } = schema;
  if (word !== undefined) return String(word);
  if (Array.isArray(words)) return `one of ${words.join(', ')}`;
  if (Array.isArray(anyOf)) {
    const types = real(anyOf).map((one) => typeText(one, resolve));
    return [...new Set(types)].join(', or ');
  }
  if (Array.isArray(allOf) && type === undefined) return typeText(allOf[0] as JsonSchema, resolve);
  const isOther = isWholeVariable(schema);
  const names = [type].flat().filter((name) => name !== 'null' && !(isOther && name === 'string'));
  const [name] = names as string[];
  if (name === 'array') {
    return items === undefined ? 'list' : `list of ${typeText(items as JsonSchema, resolve)}`;
  }
  const { additionalProperties: others } = schema;
  const isRecord = properties === undefined && typeof others === 'object' && others !== null;
  if (name === 'object' && isRecord && Object.keys(others).length > 0) {
    return `map of ${typeText(others as JsonSchema, resolve)}`;
  }
  return name === undefined ? 'anything' : (typeNames[name] ?? name);
}

/** Returns the alternatives except null and variables. */
function real(alternatives: readonly JsonSchema[]): JsonSchema[] {
  return alternatives.filter(
    (one) => one.type !== 'null' && !(one.type === 'string' && isWholeVariable(one)),
  );
}

/** `1 to 365`, `at most 255 characters`; null without bounds. */
export function boundsOf(schema: JsonSchema): string | null {
  const alternatives = Array.isArray(schema.anyOf) ? real(schema.anyOf) : [];
  if (alternatives.length === 1) return boundsOf(alternatives[0]!);
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const bounds = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
  ].filter((text) => text !== null);
  return bounds.length === 0 ? null : bounds.join(', ');
}

function range(min: unknown, max: unknown, unit: string): string | null {
  const isOpen = max === undefined || max === Number.MAX_SAFE_INTEGER;
  if (min === undefined) return isOpen ? null : `at most ${max}${unit}`;
  if (isOpen) return min === 1 && unit === ' characters' ? 'not empty' : `at least ${min}${unit}`;
  return `${min} to ${max}${unit}`;
}

/** Returns a valid value; for a map its required fields, else its first one. */
export function exampleOf(given: JsonSchema, resolve: Resolve): unknown {
  const schema = resolve(given);
  const { examples, default: fallback, enum: words, const: word, anyOf, allOf, items } = schema;
  if (Array.isArray(examples)) return examples[0];
  if (fallback !== undefined) return fallback;
  if (Array.isArray(words)) return words[0];
  if (word !== undefined) return word;
  if (Array.isArray(anyOf)) return exampleOf(real(anyOf)[0]!, resolve);
  if (Array.isArray(allOf) && schema.type === undefined) {
    return exampleOf(allOf[0] as JsonSchema, resolve);
  }
  if (items !== undefined) return [exampleOf(items as JsonSchema, resolve)];
  const types = [schema.type].flat();
  if (types.includes('object')) return mapExample(schema, resolve);
  if (types.includes('boolean')) return true;
  if (types.includes('integer') || types.includes('number')) return schema.minimum ?? 1;
  return 'text';
}

function mapExample(schema: JsonSchema, resolve: Resolve): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const allOf = (schema.allOf ?? []) as readonly { readonly anyOf?: readonly JsonSchema[] }[];
  const oneOf = allOf.flatMap(({ anyOf }) => (anyOf?.[0]?.required ?? []) as string[]);
  const needed = [...((schema.required ?? []) as string[]), ...oneOf];
  const named = needed.length > 0 ? needed : Object.keys(properties).slice(0, 1);
  const own = named.map((key) => [key, exampleOf(properties[key]!, resolve)] as const);
  const { additionalProperties: others } = schema;
  if (own.length > 0 || typeof others !== 'object' || others === null) {
    return Object.fromEntries(own);
  }
  return { name: exampleOf(others as JsonSchema, resolve) };
}
