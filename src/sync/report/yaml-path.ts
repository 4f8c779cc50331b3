/**
 * Converts a path in a canonical spec to its spelling in a manifest: `spec.rateLimits[0].value`.
 */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import type { Spec, SpecJson } from '../resources/resource-set.ts';
import { isReference } from '../resources/spec-paths.ts';
import { shapeOf, toCamelCase, toSnakeCase } from '../resources/spec-shape.ts';
import { escapeInvisible } from './value-text.ts';

/**
 * Formats the path in camelCase where both spellings are read, with reference keys, and with keys
 * that are no identifiers in brackets.
 *
 * @param root the spec that contains `segments`, to distinguish lists from maps
 */
export function yamlPath(kind: KindName, root: Spec, segments: readonly string[]): string {
  if (segments.length === 1 && segments[0] === 'workspace_id') return 'metadata.workspace';
  let path = 'spec';
  let shape = shapeOf(kind);
  let value: SpecJson | undefined = root;
  for (const key of segments) {
    path += Array.isArray(value) ? `[${key}]` : keyText(shape.opaque ? key : spelling(key));
    shape = shape.child(key);
    value = (value as Record<string, SpecJson> | undefined)?.[key];
  }
  return isReference(value) ? referencePath(kind, value.$ref, path, segments) : path;
}

function referencePath(
  kind: KindName,
  key: string,
  path: string,
  segments: readonly string[],
): string {
  const reference = kinds[kind].references.find(
    (candidate) => key.startsWith(`${candidate.kind}/`) && matchesPattern(candidate.path, segments),
  );
  if (reference === undefined || reference.manifestField === '') return path;
  const field = keyText(reference.manifestField);
  return reference.path.endsWith('*') ? `${path}${field}` : path.replace(/\.[^.]*$/, field);
}

function keyText(key: string): string {
  return /^[A-Za-z_$@][\w$@-]*$/.test(key)
    ? `.${key}`
    : `[${escapeInvisible(JSON.stringify(key))}]`;
}

/** Returns camelCase where the conversion is reversible. */
function spelling(key: string): string {
  const camel = toCamelCase(key);
  return toSnakeCase(camel) === key ? camel : key;
}
