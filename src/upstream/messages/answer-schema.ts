/** Converts the JSON schema of an answer to what Anthropic accepts in `output_config.format`. */
import type { Json } from '../documents/document-node.ts';

/** Keywords whose value stays; others become part of the description, where the model still reads them. */
const accepted: ReadonlySet<string> = new Set([
  '$ref',
  'type',
  'enum',
  'const',
  'title',
  'description',
  'required',
]);
/** Keywords that say nothing about a value. */
const annotations: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  'propertyOrdering',
  'additionalProperties',
]);
const formats: ReadonlySet<string> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
const maps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
/** Alternatives that exclude each other are alternatives at Anthropic. */
const lists = new Map([
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
]);

/** Objects are closed, because Anthropic accepts no others. */
export function closedSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const closed: Record<string, unknown> = {};
  const described: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (annotations.has(name)) continue;
    const list = lists.get(name);
    if (accepted.has(name) || isAcceptedBound(name, value)) closed[name] = value;
    else if (name === 'items') closed.items = closedSchema(value);
    else if (list !== undefined && Array.isArray(value)) closed[list] = value.map(closedSchema);
    else if (maps.has(name)) closed[name] = closedMap(value);
    else described.push(`${name}: ${JSON.stringify(value)}`);
  }
  const { type, description } = closed;
  if (type === 'object' || (Array.isArray(type) && type.includes('object'))) {
    closed.additionalProperties = false;
  }
  if (described.length > 0) {
    const rest = `{${described.join(', ')}}`;
    closed.description = description === undefined ? rest : `${description}\n\n${rest}`;
  }
  return closed;
}

function isAcceptedBound(name: string, value: unknown): boolean {
  if (name === 'format') return formats.has(String(value));
  return name === 'minItems' && (value === 0 || value === 1);
}

function closedMap(schemas: unknown): Json {
  const entries = Object.entries(Object(schemas) as Json);
  return Object.fromEntries(entries.map(([name, schema]) => [name, closedSchema(schema)]));
}
