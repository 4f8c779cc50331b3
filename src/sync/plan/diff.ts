/** Knows how one resource's wanted fields differ from the live ones, with what was last applied as third party. */
import type { Kind } from '../../model/kinds.ts';
import type { Json, Spec } from '../spec/resource-set.ts';
import {
  coversPattern,
  isPlainObject,
  isReference,
  isSecret,
  mapSpec,
  matchesPattern,
  type PlainObject,
  pointerOf,
  segmentsOf,
} from '../spec/spec-paths.ts';

type FieldReason = 'change' | 'drift' | 'default-reset';

/** One field to write. Secrets are shown by origin only, references as `{"$ref": …}`. */
export interface FieldChange {
  /** JSON pointer into the canonical spec. */
  readonly path: string;
  /** As it is on the server; null when it is not set. */
  readonly from: Json;
  /** As wanted; null when it is cleared. Equal to `from` when only the record of it is renewed. */
  readonly to: Json;
  readonly secret: boolean;
  readonly reason: FieldReason;
}

export interface DiffInput {
  readonly kind: Kind;
  /** What this owner last applied; null when it never did. */
  readonly base: Spec | null;
  readonly desired: Spec;
  readonly live: Spec;
  /** Whether an id or slug written literally means the resource that a live `$ref` names. */
  readonly sameReference: (literal: string, reference: string) => boolean;
}

/**
 * Compares field by field after the three-way rule (docs/sync.md, Three-way rule): a field in neither base
 * nor desired is not ours; one in desired must equal live; one in base only goes back to its default.
 * Pure; the answer is ordered by path, whatever the order of keys.
 */
export function diffSpecs(input: DiffInput): FieldChange[] {
  const changes: FieldChange[] = [];
  const { base, desired, live } = input;
  for (const key of unionOfKeys(desired, base ?? {})) {
    compare(
      { ...input, hasBase: base !== null, changes },
      [key],
      base?.[key],
      desired[key],
      live[key],
    );
  }
  return changes;
}

/** The top-level field a change belongs to; the API takes and replaces whole fields. */
export function topLevelField(change: FieldChange): string {
  return segmentsOf(change.path)[0]!;
}

/** A value fit for display: secrets as text, everything else as it is. */
function displayed(value: Json | undefined): Json {
  if (value === undefined) return null;
  return mapSpec({ value }, (inner) => (isSecret(inner) ? `(secret ${inner.$secret})` : undefined))
    .value!;
}

interface Comparison extends DiffInput {
  readonly hasBase: boolean;
  readonly changes: FieldChange[];
}

type Maybe = Json | undefined;

function compare(
  at: Comparison,
  segments: readonly string[],
  base: Maybe,
  desired: Maybe,
  live: Maybe,
): void {
  if (desired === undefined) {
    compareGone(at, segments, base, live);
    return;
  }
  const opaque = at.kind.opaque.some((pattern) => coversPattern(pattern, segments));
  if (isBranch(desired) && (isBranch(live) || isEmpty(live)) && !clears(at, segments, desired)) {
    const before = isPlainObject(base) ? base : {};
    const now = isBranch(live) ? live : {};
    for (const key of unionOfKeys(desired, before, opaque ? now : {})) {
      const inner = [...segments, key];
      if (desired[key] === undefined && opaque) compareSurplus(at, inner, before[key], now[key]);
      else compare(at, inner, before[key], desired[key], now[key]);
    }
    return;
  }
  if (comparableLists(at, segments, desired, live)) {
    const before = Array.isArray(base) && base.length === desired.length ? base : [];
    desired.forEach((item, index) => {
      compare(at, [...segments, `${index}`], before[index], item, (live as Json[])[index]);
    });
    return;
  }
  // The verbatim document itself may be empty in several ways; inside it every difference counts.
  const exact = opaque && !at.kind.opaque.some((pattern) => matchesPattern(pattern, segments));
  const equal = sameValue(at, segments, desired, live, exact);
  if (equal && (!at.hasBase || sameValue(at, segments, desired, base, exact))) return;
  const drifted = base !== undefined && !sameValue(at, segments, base, live, exact);
  push(at, segments, live, desired, !equal && drifted ? 'drift' : 'change');
}

/** A field that was applied before and is wanted no more. */
function compareGone(at: Comparison, segments: readonly string[], base: Maybe, live: Maybe): void {
  if (base === undefined) return;
  if (isMerged(at, segments) && isBranch(base) && isBranch(live)) {
    for (const key of unionOfKeys(base)) compareGone(at, [...segments, key], base[key], live[key]);
    return;
  }
  push(at, segments, live, null, isEmpty(live) ? 'change' : 'default-reset');
}

/** A key of a verbatim document that is live but not wanted: the whole document is ours. */
function compareSurplus(
  at: Comparison,
  segments: readonly string[],
  base: Maybe,
  live: Maybe,
): void {
  if (live === undefined && base === undefined) return;
  push(at, segments, live, null, live !== undefined && base === undefined ? 'drift' : 'change');
}

function push(
  at: Comparison,
  segments: readonly string[],
  live: Maybe,
  desired: Json,
  reason: FieldReason,
): void {
  const secret = isSecret(desired) || isSecret(live);
  const from = displayed(live);
  const to = displayed(desired);
  at.changes.push({ path: pointerOf(segments), from, to, secret, reason });
}

/** Objects that are walked into; placeholders are values. */
function isBranch(value: Maybe): value is PlainObject {
  return isPlainObject(value) && !isReference(value) && !isSecret(value);
}

/** `{}` empties a field that the API replaces whole, and says nothing about one that it merges. */
function clears(at: Comparison, segments: readonly string[], desired: PlainObject): boolean {
  return Object.keys(desired).length === 0 && !isMerged(at, segments);
}

function isMerged(at: Comparison, segments: readonly string[]): boolean {
  return segments.length === 1 && at.kind.merged.includes(segments[0]!);
}

function comparableLists(
  at: Comparison,
  segments: readonly string[],
  desired: Json,
  live: Maybe,
): desired is Json[] {
  const isSet = at.kind.sets.some((pattern) => matchesPattern(pattern, segments));
  return (
    !isSet &&
    Array.isArray(desired) &&
    Array.isArray(live) &&
    desired.length === live.length &&
    desired.length > 0
  );
}

function sameValue(
  at: Comparison,
  segments: readonly string[],
  wanted: Json,
  other: Maybe,
  exact: boolean,
): boolean {
  if (!exact && isEmpty(wanted)) return isEmpty(other);
  if (other === undefined) return false;
  if (isSecret(wanted) || isSecret(other)) {
    return isSecret(wanted) && isSecret(other) && wanted.fingerprint === other.fingerprint;
  }
  if (isReference(wanted) || isReference(other)) return sameReference(at, wanted, other);
  const deeper = (one: Json, two: Maybe, key: string): boolean =>
    sameValue(at, [...segments, key], one, two, exact);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(other) || wanted.length !== other.length) return false;
    const isSet = at.kind.sets.some((pattern) => matchesPattern(pattern, segments));
    if (!isSet) return wanted.every((item, index) => deeper(item, other[index], `${index}`));
    return sameMembers(wanted, other, (one, two) => deeper(one, two, '0'));
  }
  if (isPlainObject(wanted)) {
    if (!isPlainObject(other)) return false;
    const keys = unionOfKeys(wanted, exact ? other : {});
    return keys.every((key) => key in wanted && deeper(wanted[key]!, other[key], key));
  }
  return wanted === other || (!exact && sameMeaning(wanted, other));
}

function sameReference(at: Comparison, one: Json, two: Json): boolean {
  if (isReference(one) && isReference(two)) return one.$ref === two.$ref;
  if (typeof one === 'string' && isReference(two)) return at.sameReference(one, two.$ref);
  if (typeof two === 'string' && isReference(one)) return at.sameReference(two, one.$ref);
  return false;
}

function sameMembers(
  wanted: readonly Json[],
  other: readonly Json[],
  same: (one: Json, two: Json) => boolean,
): boolean {
  const left = [...other];
  return wanted.every((item) => {
    const found = left.findIndex((candidate) => same(item, candidate));
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  });
}

/** Not set, null, `[]` and `{}` all mean that a field holds nothing. */
function isEmpty(value: Maybe): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value)
    ? value.length === 0
    : typeof value === 'object' && Object.keys(value).length === 0;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What the server writes in another form: one moment (`…00Z`, `…00.000Z`), a UUID in capitals. */
function sameMeaning(one: Json, two: Json): boolean {
  if (typeof one !== 'string' || typeof two !== 'string') return false;
  if (rfc3339.test(one) && rfc3339.test(two)) return Date.parse(one) === Date.parse(two);
  return uuid.test(one) && one.toLowerCase() === two.toLowerCase();
}

function unionOfKeys(...objects: readonly PlainObject[]): string[] {
  return [...new Set(objects.flatMap((object) => Object.keys(object)))].sort();
}
