/** Finds the regular expressions in a JSON Schema, which a validator compiles, and checks them. */
import { documentBodyLimits, documentSizeFault } from '../json/body-limits.ts';
import { type Fault, faultAt, prefixFaults } from '../wire/fault.ts';
import type { PatternChecker } from './pattern-checker.ts';

type SchemaPath = readonly (string | number)[];

interface Part {
  readonly schema: unknown;
  readonly path: SchemaPath;
}

/** Maximum steps of a path. A schema given as text is not bounded in depth; a document already is. */
const stepsMax = 128;

/** Keywords whose value is a schema or a list of them. */
const keywordsOfSchemas = [
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
];

/** Keywords whose value is a map of schemas, with names or with patterns as keys. */
const keywordsOfMaps = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
];

/** Returns the faults of a schema that is given as an object or as JSON text. Paths start at the schema. */
export function jsonSchemaFaults(schema: unknown, patterns: PatternChecker): Fault[] {
  if (typeof schema !== 'string') return patternFaults(schema, patterns);
  let read: unknown;
  try {
    read = JSON.parse(schema);
  } catch {
    return [{ path: [], message: 'must be a JSON Schema or its JSON text' }];
  }
  const size = documentSizeFault(read, documentBodyLimits);
  if (size !== null) return [{ path: [], message: size }];
  return patternFaults(read, patterns).map(({ path, message }) => ({
    path: [],
    message: `contains a pattern at ${path.join('.').slice(0, 200)} that ${message}`,
  }));
}

function patternFaults(schema: unknown, patterns: PatternChecker): Fault[] {
  const faults: Fault[] = [];
  const pending: Part[] = [{ schema, path: [] }];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const { path } = part;
    if (typeof part.schema !== 'object' || part.schema === null) continue;
    if (path.length > stepsMax) return [{ path: [], message: 'is nested too deep' }];
    const keywords = part.schema as Readonly<Record<string, unknown>>;
    const { pattern, patternProperties } = keywords;
    const named = Object.keys(mapOf(patternProperties)).flatMap((name) =>
      faultAt(name, patterns.regexFault(name)),
    );
    const own = typeof pattern === 'string' ? patterns.regexFault(pattern) : null;
    faults.push(...prefixFaults(path, faultAt('pattern', own)));
    faults.push(...prefixFaults([...path, 'patternProperties'], named));
    for (const child of partsOf(keywords, path)) pending.push(child);
  }
  return faults;
}

/** Yields the schemas directly within a schema. */
function* partsOf(keywords: Readonly<Record<string, unknown>>, path: SchemaPath): Generator<Part> {
  for (const keyword of keywordsOfSchemas) {
    const value = keywords[keyword];
    // Most keywords are absent; building a path for each would cost more than the rest of the check.
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) yield { schema: value, path: [...path, keyword] };
    else for (const [at, schema] of value.entries()) yield { schema, path: [...path, keyword, at] };
  }
  for (const keyword of keywordsOfMaps) {
    for (const [name, schema] of Object.entries(mapOf(keywords[keyword]))) {
      yield { schema, path: [...path, keyword, name] };
    }
  }
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
