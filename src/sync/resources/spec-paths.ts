/** Knows how places in a spec are named: dotted patterns of the kinds table and JSON pointers of a plan. */
import { kindNames } from '../../model/kinds/kinds.ts';
import { replaceValues } from '../../model/manifests/path-patterns.ts';
import type { Spec, SpecJson } from './resource-set.ts';

export type PlainObject = { [key: string]: SpecJson };

export function isPlainObject(value: SpecJson | undefined): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `{"$ref": "Config/support/routing"}`: stands for another resource. A document may have a `$ref` of
 * its own (a JSON Schema has): that leads to no kind.
 */
export function isReference(value: SpecJson | undefined): value is PlainObject & { $ref: string } {
  if (!isPlainObject(value) || typeof value.$ref !== 'string') return false;
  const { $ref: key, ...others } = value;
  const kind = key.slice(0, Math.max(0, key.indexOf('/')));
  const leadsToKind = key === '' || kindNames.some((name) => name === kind);
  return leadsToKind && Object.keys(others).length === 0;
}

/** `{"$secret": "env:X", "fingerprint": "…"}`: stands for a write-only value. */
export function isSecret(
  value: SpecJson | undefined,
): value is PlainObject & { $secret: string; fingerprint: string } {
  return (
    isPlainObject(value) &&
    typeof value.$secret === 'string' &&
    typeof value.fingerprint === 'string' &&
    Object.keys(value).length === 2
  );
}

/** JSON pointer (RFC 6901) of a path: `['a', 'b/c']` is `/a/b~1c`. */
export function pointerOf(segments: readonly string[]): string {
  return segments.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Keys of a JSON pointer, unescaped. */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a path; undefined where the path leads nowhere. */
export function valueAt(holder: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (value as Record<string, unknown>)[key]
        : undefined,
    holder,
  );
}

/** Sets the value at a path whose holder exists. */
export function putAt(
  holder: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): void {
  const parent = valueAt(holder, path.slice(0, -1)) as Record<string, unknown>;
  const key = path.at(-1);
  if (key !== undefined) parent[key] = value;
}

/** As {@link replaceValues}, of a spec. */
export function mapSpec(
  spec: Spec,
  replace: (value: SpecJson, segments: readonly string[]) => SpecJson | undefined,
): Spec {
  return replaceValues(spec, replace as Parameters<typeof replaceValues>[1]) as Spec;
}

/** Identity keys of everything a spec refers to, once each. */
export function referencesIn(spec: Spec): string[] {
  const found = new Set<string>();
  mapSpec(spec, (value) => {
    if (isReference(value)) found.add(value.$ref);
    return undefined;
  });
  return [...found];
}
