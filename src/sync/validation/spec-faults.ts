/** Converts schema errors to faults for the author of a manifest: position, message and fix. */
import { z } from 'zod';
import { hasCredential, type KindName, kinds } from '../../model/kinds/kinds.ts';
import { expectedForms, issuesOfNearestVariant } from '../../model/wire/fault.ts';
import { didYouMean } from '../../suggest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { valueAt } from '../resources/spec-paths.ts';
import { toCamelCase, toSnakeCase } from '../resources/spec-shape.ts';
import type { SourceFault } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { Segments } from '../yaml/yaml-position.ts';

type Issue = z.core.$ZodIssue;

/**
 * Returns one fault for each error in a converted spec. `schema` and `body`, the validated value, are in the API's
 * spelling.
 */
export function issueFaults(
  kind: KindName,
  manifest: Manifest,
  { schema, body }: { readonly schema: z.ZodObject; readonly body: unknown },
  issues: readonly Issue[],
): SourceFault[] {
  return strictestBounds(issues.flatMap(issuesOfNearestVariant)).flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) =>
        unknownField(kind, manifest, fieldsAt(kind, schema, path), path, key),
      );
    }
    const value = valueAt(body, path);
    const written = writtenPath(manifest.spec, path);
    if (value === undefined) {
      const parent = writtenPath(manifest.spec, path.slice(0, -1));
      const name = [...parent, manifestKey(kind, path)];
      const fault = manifest.place.fault(
        parent,
        'missing-field',
        `${formatPath(name)} is required`,
      );
      return [{ ...fault, fix: choices(issue, undefined) }];
    }
    const { message, fix } = inWords(issue, value);
    return [manifest.place.fault(written, codeOf(issue), `${formatPath(written)} ${message}`, fix)];
  });
}

/** Drops each bound of a value that a stricter one at the same path includes. */
function strictestBounds(issues: readonly Issue[]): Issue[] {
  return issues.filter((issue) => !issues.some((other) => isStricter(other, issue)));
}

function isStricter(one: Issue, other: Issue): boolean {
  if (one.path.join('.') !== other.path.join('.')) return false;
  if (one.code === 'too_small') return other.code === 'too_small' && one.minimum > other.minimum;
  return one.code === 'too_big' && other.code === 'too_big' && one.maximum < other.maximum;
}

/**
 * Converts a path in the API body to the written spec, where keys may be camelCase and references
 * have keys of their own. Ends early where nothing was written.
 */
export function writtenPath(spec: unknown, path: Segments): string[] {
  const written = ['spec'];
  let value = spec;
  // The policy may come from the manifest's `rotation` field.
  if (path[0] === 'rotation_policy' && isMap(spec) && 'rotation' in spec) {
    return [...written, 'rotation'];
  }
  for (const key of path) {
    const found = isMap(value) ? writtenKey(value, key) : key;
    if (found === undefined) break;
    written.push(found);
    value = (value as Record<string, unknown> | undefined)?.[found];
  }
  return written;
}

/** Formats `spec.rateLimits[0].unit`. */
export function formatPath(segments: Segments): string {
  const parts = segments.map((segment, at) => {
    if (/^\d+$/.test(segment)) return `[${segment}]`;
    const word =
      segment.length > printedKeyLengthMax ? `${segment.slice(0, printedKeyLengthMax)}…` : segment;
    return at === 0 ? word : `.${word}`;
  });
  return parts.join('');
}

const printedKeyLengthMax = 60;

function writtenKey(holder: Record<string, unknown>, key: string): string | undefined {
  if (Object.hasOwn(holder, key)) return key;
  return Object.keys(holder).find(
    (written) => toSnakeCase(written) === key || isReferenceKey(written, key),
  );
}

/** `configRef` stands for `config_id`, `apiKeyRef` for the `value` next to it. */
function isReferenceKey(written: string, key: string): boolean {
  return /(?:Ref|_ref)$/.test(written) && (key === 'value' || key === refTarget(written));
}

function refTarget(written: string): string {
  return toSnakeCase(written).replace(/_ref$/, '_id');
}

/** Returns the manifest spelling of the last key of a path. */
function manifestKey(kind: KindName, path: Segments): string {
  const reference = kinds[kind].references.find((field) => field.path === path.join('.'));
  return reference?.manifestField || toCamelCase(path.at(-1) ?? '');
}

/**
 * API fields that another kind declares, because they refer to resources that depend on this one.
 */
const declaredByOtherKind: Readonly<Record<string, KindName>> = {
  'Workspace.defaults.input_guardrails': 'WorkspaceGuardrails',
  'Workspace.defaults.output_guardrails': 'WorkspaceGuardrails',
  'Workspace.defaults.mcp_input_guardrails': 'WorkspaceGuardrails',
  'Workspace.defaults.mcp_output_guardrails': 'WorkspaceGuardrails',
};

function unknownField(
  kind: KindName,
  manifest: Manifest,
  known: readonly string[],
  path: Segments,
  key: string,
): SourceFault {
  const parent = writtenPath(manifest.spec, path);
  const holder = parent
    .slice(1)
    .reduce<unknown>((value, at) => valueAt(value, [at]), manifest.spec);
  const name = (isMap(holder) ? writtenKey(holder, key) : undefined) ?? key;
  const other = declaredByOtherKind[[kind, ...path, toSnakeCase(key)].join('.')];
  const fix =
    (other && `a ${other} declares that: see gatewright explain ${other}`) ??
    didYouMean(name, known) ??
    (known.length > 0 ? `known are ${known.join(', ')}` : undefined);
  return {
    position: manifest.place.at([...parent, name], 'key'),
    code: 'unknown-field',
    message: `${formatPath(parent)} has no field "${name}"`,
    fix,
  };
}

/** Returns the fields in the schema at a path, in manifest spelling. */
export function fieldsAt(kind: KindName, body: z.ZodObject, path: Segments): string[] {
  let schema: unknown = body;
  for (const key of path) schema = schemaBelow(unwrapped(schema), key);
  const found = unwrapped(schema);
  if (!(found instanceof z.ZodObject)) return [];
  const extra = hasCredential(kind) && path.length === 0 ? ['secretOutput', 'rotation'] : [];
  const fields = Object.keys(found.shape).filter((field) => field !== 'workspace_id');
  return [...fields.map((field) => manifestKey(kind, [...path, field])), ...extra];
}

function schemaBelow(schema: unknown, key: string): unknown {
  if (schema instanceof z.ZodObject) return schema.shape[key];
  return schema instanceof z.ZodArray ? schema.element : undefined;
}

function unwrapped(schema: unknown): unknown {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapper ? unwrapped(schema.unwrap()) : schema;
}

function codeOf(issue: Issue): string {
  if (issue.code === 'invalid_type' || issue.code === 'invalid_union') return 'wrong-type';
  return 'wrong-value';
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

function inWords(issue: Issue, value: unknown): { message: string; fix?: string | undefined } {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = typeNames[issue.expected] ?? issue.expected;
      return { message: `must be ${wanted}, not ${typeOf(value)}`, fix: quoting(issue, value) };
    }
    case 'invalid_value':
      return { message: 'has a value that is not allowed', fix: choices(issue, value) };
    case 'too_small':
      return { message: `must ${bound(issue.origin, 'at least', issue.minimum)}` };
    case 'too_big':
      return { message: `must ${bound(issue.origin, 'at most', issue.maximum)}` };
    case 'invalid_union':
      return { message: `must be ${formsInWords(issue)}, not ${typeOf(value)}` };
    case 'invalid_format':
      return { message: formats[issue.format] ?? issue.message };
    case 'custom':
      return { message: issue.message, fix: candidateFix(issue.params?.candidates, value) };
    default:
      return { message: issue.message };
  }
}

function formsInWords(issue: Issue): string {
  return expectedForms(issue)
    .map((form) => typeNames[form] ?? form)
    .join(' or ');
}

const formats: Readonly<Record<string, string>> = {
  email: 'must be an e-mail address',
  uuid: 'must be a UUID',
};

function typeOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeNames[typeof value] ?? 'this';
}

function quoting(issue: Issue & { code: 'invalid_type' }, value: unknown): string | undefined {
  const isNumeric =
    typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value));
  if (issue.expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return 'put it in quotes';
  }
  return (issue.expected === 'number' || issue.expected === 'int') && isNumeric
    ? 'remove the quotes'
    : undefined;
}

function bound(origin: string, limit: string, count: number | bigint): string {
  if (origin === 'string')
    return count === 1 ? 'not be empty' : `have ${limit} ${count} characters`;
  if (origin !== 'array') return `be ${limit} ${count}`;
  return count === 1 ? `have ${limit} one item` : `have ${limit} ${count} items`;
}

/** For a longer enumeration only the nearest word is suggested, if one is near. */
const choicesListedMax = 8;

/** Lists the allowed words of an enumeration. */
function choices(issue: Issue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_value') return undefined;
  const words = issue.values.map(String);
  const isLong = words.length > choicesListedMax && typeof value === 'string';
  const near = isLong ? didYouMean(value, words) : undefined;
  return near ?? `allowed are ${words.join(', ')}`;
}

function candidateFix(candidates: unknown, value: unknown): string | undefined {
  if (!Array.isArray(candidates) || typeof value !== 'string') return undefined;
  return didYouMean(value, candidates.map(String));
}
