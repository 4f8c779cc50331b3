/**
 * Compares the desired fields of one resource with the live ones, by three-way merge with the last
 * applied spec.
 */
import { mayBeCredential } from '../resources/credential-forms.ts';
import type { Spec, SpecJson } from '../resources/resource-set.ts';
import {
  isPlainObject,
  isSecret,
  mapSpec,
  type PlainObject,
  pointerOf,
  segmentsOf,
} from '../resources/spec-paths.ts';
import { alignLists, alignSets } from './alignment.ts';
import {
  type EqualityTerms,
  isBranch,
  isEmpty,
  isExact,
  isIdentical,
  isOpaque,
  isSet,
  type MaybeJson,
  sameValue,
  unionOfKeys,
} from './equality.ts';

export type FieldReason = 'change' | 'drift' | 'default-reset';

/**
 * One difference at the smallest path that covers it: a single value, or a subtree that exists on
 * one side only. Secrets are represented by their origin.
 */
export interface Difference {
  /** JSON pointer into the desired spec; for removed values into the live spec. */
  readonly path: string;
  /** Path of `from` in the live spec; differs when list entries have shifted. */
  readonly livePath: string;
  /**
   * `recorded`: the server already has the value, only the record of the last apply is outdated.
   */
  readonly difference: 'added' | 'changed' | 'removed' | 'recorded';
  /** The live value; null when not set. */
  readonly from: SpecJson;
  /** The desired value; null when cleared. */
  readonly to: SpecJson;
  readonly secret: boolean;
  readonly reason: FieldReason;
}

export interface DiffInput extends EqualityTerms {
  /** The spec that this owner applied last; null when it never did. */
  readonly base: Spec | null;
  readonly desired: Spec;
  readonly live: Spec;
}

/**
 * Compares value by value under the three-way rule (docs/explanation/sync.md, Three-way rule): a
 * field in neither base nor desired is not managed; one in desired must equal live; one only in
 * base returns to its default. Pure; ordered by path, whatever the order of keys.
 */
export function diffSpecs(input: DiffInput): Difference[] {
  const { base, desired, live } = input;
  if (isAsWanted(input)) return [];
  const differences: Difference[] = [];
  const at = { ...input, hasBase: base !== null, isInList: false, differences };
  for (const key of unionOfKeys(desired, base ?? {})) {
    compare(at, below(top, key), base?.[key], desired[key], live[key]);
  }
  return differences;
}

/** Returns whether all sides are identical, the usual case. */
function isAsWanted({ base, desired, live }: DiffInput): boolean {
  for (const key of Object.keys(desired)) {
    const value = desired[key];
    if (value === undefined || !isIdentical(value, live[key])) return false;
    if (base !== null && !isIdentical(value, base[key])) return false;
  }
  return base === null || Object.keys(base).every((key) => Object.hasOwn(desired, key));
}

/**
 * Returns whether the spec equals the one applied last, so that only others can have changed live.
 */
export function isAsApplied(
  kind: EqualityTerms['kind'],
  base: Spec | null,
  desired: Spec,
): boolean {
  if (base === null) return false;
  const sides = { base, desired, live: base, sameReference: () => false };
  return diffSpecs({ kind, ...sides }).length === 0;
}

/** Returns the top-level field of a difference; the API replaces whole top-level fields. */
export function topLevelField({ path }: Difference): string {
  return segmentsOf(path)[0]!;
}

/** The paths on both sides of a comparison; one shared array until a list has shifted. */
export interface ComparedPath {
  readonly wanted: readonly string[];
  readonly live: readonly string[];
}

const top: ComparedPath = { wanted: [], live: [] };

export function below({ wanted, live }: ComparedPath, key: string, liveKey = key): ComparedPath {
  const path = [...wanted, key];
  return { wanted: path, live: wanted === live && key === liveKey ? path : [...live, liveKey] };
}

/** A removed value that no manifest ever named, so that a write removes it along with others. */
export function removal(place: ComparedPath, live: SpecJson, reason: FieldReason): Difference {
  return differenceAt(place, live, undefined, 'removed', reason);
}

interface DiffContext extends EqualityTerms {
  /** Whether there is a base to compare with. */
  readonly hasBase: boolean;
  /** Within a list entry: lists are written whole, so values that are not desired disappear. */
  readonly isInList: boolean;
  readonly differences: Difference[];
}

function compare(
  at: DiffContext,
  place: ComparedPath,
  base: MaybeJson,
  desired: MaybeJson,
  live: MaybeJson,
  isEntry = false,
): void {
  const { kind } = at;
  const segments = place.wanted;
  if (desired === undefined) {
    compareGone(at, place, base, live);
    return;
  }
  if (isIdentical(desired, live) && (!at.hasBase || isIdentical(desired, base))) return;
  const exact = isExact(kind, segments);
  const isHollow = exact ? live === undefined : isEmpty(live);
  if (isBranch(desired) && (isBranch(live) || isHollow) && !clears(at, segments, desired)) {
    const before = isPlainObject(base) ? base : {};
    const now = isBranch(live) ? live : {};
    const isWhole = at.isInList || isOpaque(kind, segments);
    for (const key of unionOfKeys(desired, before, isWhole ? now : {})) {
      const inner = below(place, key);
      if (desired[key] === undefined && isWhole) compareSurplus(at, inner, before[key], now[key]);
      else compare(at, inner, before[key], desired[key], now[key]);
    }
    return;
  }
  const same = (one: MaybeJson, other: MaybeJson): boolean =>
    sameValue(at, segments, one, other, at.isInList);
  const equal = same(desired, live);
  if (!equal && hasEntries(desired) && hasEntries(live)) {
    compareLists(at, place, Array.isArray(base) ? base : [], desired, live);
    return;
  }
  if (equal && (!at.hasBase || same(desired, base))) return;
  const drifted = base !== undefined && !same(base, live);
  const isCleared = !exact && isEmpty(desired) && !Array.isArray(desired);
  // A list entry exists even if it is empty.
  const difference = isEntry ? 'changed' : isHollow ? 'added' : isCleared ? 'removed' : 'changed';
  at.differences.push(
    equal
      ? differenceAt(place, live, desired, 'recorded', 'change')
      : differenceAt(place, live, desired, difference, drifted ? 'drift' : 'change'),
  );
}

/** Compares entry by entry; added and removed entries are reported as such at any index. */
function compareLists(
  at: DiffContext,
  place: ComparedPath,
  base: readonly SpecJson[],
  desired: readonly SpecJson[],
  live: readonly SpecJson[],
): void {
  const segments = [...place.wanted, '0'];
  const same = (one: SpecJson, other: SpecJson): boolean =>
    sameValue(at, segments, other, one, true);
  const align = isSet(at.kind, place.wanted) ? alignSets : alignLists;
  const applied = new Map(base.map((entry) => [sortedText(entry), entry]));
  const wasApplied = (item: SpecJson): boolean => applied.has(sortedText(item));
  // By index while the server's list has the same length, else by value.
  const entryAt = (index: number): MaybeJson =>
    base.length === live.length ? base[index] : applied.get(sortedText(live[index]!));
  for (const { before, after } of align(live, desired, same)) {
    if (before === null) {
      const item = desired[after!]!;
      const reason = at.hasBase && wasApplied(item) ? 'drift' : 'change';
      at.differences.push(differenceAt(below(place, `${after}`), undefined, item, 'added', reason));
    } else if (after === null) {
      const item = live[before]!;
      const reason = at.hasBase && !wasApplied(item) ? 'drift' : 'change';
      at.differences.push(removal(below(place, `${before}`), item, reason));
    } else if (!same(live[before]!, desired[after]!)) {
      const entry = entryAt(before) ?? applied.get(sortedText(desired[after]!));
      const inner = { ...at, hasBase: entry !== undefined, isInList: true };
      const entryPlace = below(place, `${after}`, `${before}`);
      compare(inner, entryPlace, entry, desired[after], live[before], true);
    }
  }
}

/** JSON text with sorted keys, equal for equal values. */
export function sortedText(value: SpecJson): string {
  return JSON.stringify(value, (_, inner: SpecJson) =>
    isPlainObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [two]) => (one < two ? -1 : 1)))
      : inner,
  );
}

/** A field that was applied before and is no longer desired. */
function compareGone(at: DiffContext, place: ComparedPath, base: MaybeJson, live: MaybeJson): void {
  if (base === undefined) return;
  if (isMerged(at, place.wanted) && isBranch(base) && isBranch(live)) {
    for (const key of unionOfKeys(base)) compareGone(at, below(place, key), base[key], live[key]);
    return;
  }
  at.differences.push(
    sameValue(at, place.wanted, undefined, live, at.isInList)
      ? differenceAt(place, live, undefined, 'recorded', 'change')
      : removal(place, live!, 'default-reset'),
  );
}

/** A live key that is not desired, where the whole document is managed. */
function compareSurplus(
  at: DiffContext,
  place: ComparedPath,
  base: MaybeJson,
  live: MaybeJson,
): void {
  if (live === undefined && base === undefined) return;
  at.differences.push(
    live === undefined
      ? differenceAt(place, live, undefined, 'recorded', 'change')
      : removal(place, live, at.hasBase && base === undefined ? 'drift' : 'change'),
  );
}

function differenceAt(
  { wanted, live: livePlace }: ComparedPath,
  live: MaybeJson,
  desired: MaybeJson,
  difference: Difference['difference'],
  reason: FieldReason,
): Difference {
  const [from, to] = [displayed(live, livePlace, 'server'), displayed(desired, wanted, 'manifest')];
  const isGone = difference === 'removed' && desired === undefined;
  return {
    path: pointerOf(isGone ? livePlace : wanted),
    livePath: pointerOf(livePlace),
    difference,
    from,
    to,
    secret: isSecret(from) || isSecret(to),
    reason,
  };
}

/** Returns a displayable value; a secret, or a possible one, is replaced by its origin. */
function displayed(value: MaybeJson, at: readonly string[], side: 'server' | 'manifest'): SpecJson {
  if (value === undefined) return null;
  return mapSpec({ value }, (inner, [, ...inside]) => {
    if (isSecret(inner)) return { $secret: inner.$secret, fingerprint: '' };
    if (typeof inner !== 'string' || inner === '') return undefined;
    if (!mayBeCredential([...at, ...inside], inner)) return undefined;
    return { $secret: side, fingerprint: '' };
  }).value!;
}

/** `{}` empties a field that the API replaces whole, and means nothing for one that it merges. */
function clears(at: DiffContext, segments: readonly string[], desired: PlainObject): boolean {
  return Object.keys(desired).length === 0 && !isMerged(at, segments);
}

function isMerged({ kind }: DiffContext, segments: readonly string[]): boolean {
  return segments.length === 1 && kind.merged.includes(segments[0]!);
}

function hasEntries(value: MaybeJson): value is SpecJson[] {
  return Array.isArray(value) && value.length > 0;
}
