/**
 * Decides when two values of a spec mean the same despite different forms
 * (docs/explanation/sync.md, Three-way rule).
 */
import type { Kind } from '../../model/kinds/kinds.ts';
import { matchesPattern, matchesPatternOrParent } from '../../model/manifests/path-patterns.ts';
import type { SpecJson } from '../resources/resource-set.ts';
import { isPlainObject, isReference, isSecret, type PlainObject } from '../resources/spec-paths.ts';

/** The terms of a comparison. */
export interface EqualityTerms {
  readonly kind: Kind;
  /** Returns whether a literal id or slug means the resource that a live `$ref` names. */
  readonly sameReference: (literal: string, reference: string) => boolean;
}

export type MaybeJson = SpecJson | undefined;

/** Returns whether two values are identical, a quick check that nearly always suffices. */
export function isIdentical(one: MaybeJson, other: MaybeJson): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (one === null || other === null) return false;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isIdentical(item, other[at]))
    );
  }
  if (Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  for (const key of keys) {
    const value = Object.hasOwn(other, key) ? (other as PlainObject)[key] : undefined;
    if (!isIdentical((one as PlainObject)[key], value)) return false;
  }
  return true;
}

/**
 * Returns whether `other` is as desired; `segments` lead to both. Keys that only `other` has count
 * in lists, which are written whole, and in verbatim documents.
 */
export function sameValue(
  by: EqualityTerms,
  segments: readonly string[],
  wanted: MaybeJson,
  other: MaybeJson,
  isInList: boolean,
): boolean {
  const exact = isExact(by.kind, segments);
  if (!exact && isEmpty(wanted) && isEmpty(other)) return true;
  if (isSecret(wanted) || isSecret(other)) {
    return isSecret(wanted) && isSecret(other) && wanted.fingerprint === other.fingerprint;
  }
  if (isReference(wanted) || isReference(other)) return sameReference(by, wanted, other);
  if (Array.isArray(wanted) && Array.isArray(other)) return sameLists(by, segments, wanted, other);
  const [one, two] = exact ? [wanted, other] : [asObject(wanted, other), asObject(other, wanted)];
  if (isPlainObject(one) && isPlainObject(two)) {
    const isWhole = exact || isInList || isEmpty(one) || isOpaque(by.kind, segments);
    return unionOfKeys(one, isWhole ? two : {}).every((key) =>
      sameValue(by, [...segments, key], ownValue(one, key), ownValue(two, key), isInList),
    );
  }
  if (one === undefined || two === undefined) return one === two;
  return one === two || (!exact && sameMeaning(segments, one, two));
}

/** An empty value next to an object counts as an object without keys. */
function asObject(value: MaybeJson, beside: MaybeJson): MaybeJson {
  return isPlainObject(beside) && isEmpty(value) ? {} : value;
}

function ownValue(object: PlainObject, key: string): MaybeJson {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function sameLists(
  by: EqualityTerms,
  segments: readonly string[],
  wanted: readonly SpecJson[],
  other: readonly SpecJson[],
): boolean {
  if (wanted.length !== other.length) return false;
  const same = (index: number, one: SpecJson, two: MaybeJson): boolean =>
    sameValue(by, [...segments, `${index}`], one, two, true);
  if (!isSet(by.kind, segments)) return wanted.every((item, at) => same(at, item, other[at]));
  return sameMembers(wanted, other, (one, two) => same(0, one, two));
}

/** Returns whether the order of the list at this path has no meaning. */
export function isSet({ sets }: Kind, segments: readonly string[]): boolean {
  return sets.some((pattern) => matchesPattern(pattern, segments));
}

/** Returns whether the path is a verbatim document or inside one. */
export function isOpaque({ opaque }: Kind, segments: readonly string[]): boolean {
  return opaque.some((pattern) => matchesPatternOrParent(pattern, segments));
}

/** A verbatim document itself may be empty in several forms; inside it every difference counts. */
export function isExact(kind: Kind, segments: readonly string[]): boolean {
  return (
    isOpaque(kind, segments) && !kind.opaque.some((pattern) => matchesPattern(pattern, segments))
  );
}

/** Absent, null, '', `[]` and `{}` all mean that a field is empty. */
export function isEmpty(value: MaybeJson): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value)
    ? value.length === 0
    : typeof value === 'object' && Object.keys(value).length === 0;
}

/** Objects that are compared key by key; placeholders count as values. */
export function isBranch(value: MaybeJson): value is PlainObject {
  return isPlainObject(value) && !isReference(value) && !isSecret(value);
}

/** Sorted, so that the order of keys does not matter. */
export function unionOfKeys(...objects: readonly PlainObject[]): string[] {
  return [...new Set(objects.flatMap((object) => Object.keys(object)))].sort();
}

function sameReference(by: EqualityTerms, one: MaybeJson, two: MaybeJson): boolean {
  if (isReference(one) && isReference(two)) return one.$ref === two.$ref;
  if (typeof one === 'string' && isReference(two)) return by.sameReference(one, two.$ref);
  if (typeof two === 'string' && isReference(one)) return by.sameReference(two, one.$ref);
  return false;
}

function sameMembers(
  wanted: readonly SpecJson[],
  other: readonly SpecJson[],
  same: (one: SpecJson, two: SpecJson) => boolean,
): boolean {
  const left = [...other];
  return wanted.every((item) => {
    const found = left.findIndex((candidate) => same(item, candidate));
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  });
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Compares values that the server rewrites: timestamps (`…00Z`, `…00.000Z`) and ids in upper case.
 */
function sameMeaning(segments: readonly string[], one: SpecJson, two: SpecJson): boolean {
  if (typeof one !== 'string' || typeof two !== 'string') return false;
  const field = segments.findLast((key) => !/^\d+$/.test(key)) ?? '';
  if (field.endsWith('_at') && rfc3339.test(one) && rfc3339.test(two)) {
    return Date.parse(one) === Date.parse(two);
  }
  return /_ids?$/.test(field) && uuid.test(one) && one.toLowerCase() === two.toLowerCase();
}
