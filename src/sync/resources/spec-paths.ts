/** Addresses values in a spec by JSON pointers and by the path patterns of the kinds table. */
import { kindNames } from '../../model/kinds/kinds.ts';
import { replaceValues } from '../../model/manifests/path-patterns.ts';
import type { Spec, SpecJson } from './resource-set.ts';

export type PlainObject = { [key: string]: SpecJson };

export function isPlainObject(value: SpecJson | undefined): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `{"$ref": "Config/support/routing"}` refers to another resource. A document may have a `$ref` of
 * its own, as a JSON Schema does; that one names no kind.
 */
export function isReference(value: SpecJson | undefined): value is PlainObject & { $ref: string } {
  if (!isPlainObject(value) || typeof value.$ref !== 'string') return false;
  const { $ref: key, ...others } = value;
  const kind = key.slice(0, Math.max(0, key.indexOf('/')));
  const leadsToKind = key === '' || kindNames.some((name) => name === kind);
  return leadsToKind && Object.keys(others).length === 0;
}

/** `{"$secret": "env:X", "fingerprint": "…"}` stands for a write-only value. */
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

/** A write-only value of the server, whose origin is therefore unknown. */
export function isLiveSecret(value: SpecJson | undefined): boolean {
  return isSecret(value) && value.$secret === 'live';
}

/** Formats a path as a JSON pointer (RFC 6901): `['a', 'b/c']` is `/a/b~1c`. */
export function pointerOf(segments: readonly string[]): string {
  return segments.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns the unescaped keys of a JSON pointer. */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the value at a path; undefined when the path does not exist. */
export function valueAt(holder: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (value as Record<string, unknown>)[key]
        : undefined,
    holder,
  );
}

/** Sets the value at a path whose parent exists. */
export function putAt(
  holder: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): void {
  const parent = valueAt(holder, path.slice(0, -1)) as Record<string, unknown>;
  const key = path.at(-1);
  if (key !== undefined) parent[key] = value;
}

/** Applies {@link replaceValues} to a spec. */
export function mapSpec(
  spec: Spec,
  replace: (value: SpecJson, segments: readonly string[]) => SpecJson | undefined,
): Spec {
  return replaceValues(spec, replace as Parameters<typeof replaceValues>[1]) as Spec;
}

/** Returns the identity keys of all references in a spec, without duplicates. */
export function referencesIn(spec: Spec): string[] {
  const found = new Set<string>();
  mapSpec(spec, (value) => {
    if (isReference(value)) found.add(value.$ref);
    return undefined;
  });
  return [...found];
}
