/** Converts JSON schemas to what Gemini accepts, and schemas of Gemini to JSON schemas. */
import type { DocumentNode, Json } from '../documents/document-node.ts';

/** Keywords of a JSON schema that Gemini documents; it ignores or refuses others. */
const acceptedKeywords: ReadonlySet<string> = new Set([
  '$anchor',
  '$defs',
  '$id',
  '$ref',
  'additionalProperties',
  'anyOf',
  'description',
  'enum',
  'format',
  'items',
  'maxItems',
  'maximum',
  'minItems',
  'minimum',
  'oneOf',
  'prefixItems',
  'properties',
  'propertyOrdering',
  'required',
  'title',
  'type',
]);
/** Keywords that say nothing about a value. */
const annotations: ReadonlySet<string> = new Set(['$schema', '$comment']);
const partKeywords = ['additionalProperties', 'items', 'anyOf', 'oneOf', 'prefixItems'];
const mapKeywords = ['properties', '$defs'];

/**
 * Leaves out the keywords that Gemini does not accept. `const` becomes a list of one value, `definitions` becomes
 * `$defs`.
 *
 * @throws NotTranslatable when the config refuses hints
 */
export function acceptedSchema(schema: DocumentNode): unknown {
  const { value } = schema;
  if (Array.isArray(value)) return schema.items().map(acceptedSchema);
  if (typeof value !== 'object' || value === null) return value;
  const accepted: Record<string, unknown> = {};
  for (const [keyword, setting] of Object.entries(value)) {
    const name = keyword === 'definitions' ? '$defs' : keyword;
    const member = schema.at(keyword);
    if (name === 'const') accepted.enum ??= [setting];
    else if (name === '$ref') accepted.$ref = String(setting).replace('#/definitions/', '#/$defs/');
    else if (partKeywords.includes(name)) accepted[name] = acceptedSchema(member);
    else if (mapKeywords.includes(name)) accepted[name] = acceptedMap(member);
    else if (acceptedKeywords.has(name)) accepted[name] = setting;
    else if (!annotations.has(name)) member.dropHint();
  }
  return accepted;
}

function acceptedMap(schemas: DocumentNode): unknown {
  const { value } = schemas;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.keys(value).map((name) => [name, acceptedSchema(schemas.at(name))]),
  );
}

/** Members of Gemini's schemas that JSON schemas do not have. */
const geminiOnly: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example']);
/** Numbers that Gemini writes as texts. */
const countKeywords: ReadonlySet<string> = new Set([
  'maxItems',
  'maxLength',
  'maxProperties',
  'minItems',
  'minLength',
  'minProperties',
]);

/** Converts a schema of Gemini, whose types are in capitals and whose counts may be texts. */
export function standardSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(standardSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { type, nullable } = schema as Json;
  const converted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (geminiOnly.has(name) || name === 'type') continue;
    if (partKeywords.includes(name)) converted[name] = standardSchema(value);
    else if (mapKeywords.includes(name)) converted[name] = convertedMap(value);
    else converted[name] = countKeywords.has(name) ? Number(value) : value;
  }
  const word = typeof type === 'string' ? type.toLowerCase() : type;
  if (word === undefined || word === 'type_unspecified') return converted;
  const isNullable = nullable === true && typeof word === 'string';
  return { type: isNullable ? [word, 'null'] : word, ...converted };
}

function convertedMap(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas;
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, standardSchema(schema)]),
  );
}
