/** Knows where a JSON Schema holds patterns, which whoever validates by it compiles. */
import { documentBody, documentSizeFault } from '../json/body-limits.ts';
import { below, type Fault, faultAt } from '../wire/fault.ts';
import type { PatternJudge } from './regex-rule.ts';

type Path = readonly (string | number)[];

interface Part {
  readonly schema: unknown;
  readonly path: Path;
}

/** Steps of a path; text could lead on without end, where a document's depth is bounded already. */
const stepsMax = 128;

/** Keywords whose value is a schema or a list of them. */
const keywordsOfSchemas = [
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contentSchema'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
];

/** Keywords whose value is a map of schemas, with names or with patterns as keys. */
const keywordsOfMaps = [
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['$defs', 'definitions'],
];

/** Faults of a schema that stands as a document or as its JSON text; paths start at it. */
export function jsonSchemaFaults(schema: unknown, patterns: PatternJudge): Fault[] {
  if (typeof schema !== 'string') return patternFaults(schema, patterns);
  let read: unknown;
  try {
    read = JSON.parse(schema);
  } catch {
    return [{ path: [], message: 'must be a JSON Schema, or JSON text of one' }];
  }
  const size = documentSizeFault(read, documentBody);
  if (size !== null) return [{ path: [], message: size }];
  return patternFaults(read, patterns).map(({ path, message }) => ({
    path: [],
    message: `has at ${path.join('.').slice(0, 200)} a pattern that ${message}`,
  }));
}

function patternFaults(schema: unknown, patterns: PatternJudge): Fault[] {
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
    faults.push(...below(path, faultAt('pattern', own)));
    faults.push(...below([...path, 'patternProperties'], named));
    for (const one of partsOf(keywords, path)) pending.push(one);
  }
  return faults;
}

/** The schemas directly within one. */
function* partsOf(keywords: Readonly<Record<string, unknown>>, path: Path): Generator<Part> {
  for (const keyword of keywordsOfSchemas) {
    const value = keywords[keyword];
    // Most keywords are absent; a path for each of them costs more than the rest together.
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
