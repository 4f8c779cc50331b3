/** Knows how one resource's wanted fields differ from the live ones, with what was last applied as third party. */
import { mayBeCredential } from '../resources/credential-forms.ts';
import type { Json, Spec } from '../resources/resource-set.ts';
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
  isBranch,
  isEmpty,
  isExact,
  isIdentical,
  isOpaque,
  isSet,
  type Maybe,
  type Sameness,
  sameValue,
  unionOfKeys,
} from './equality.ts';

export type FieldReason = 'change' | 'drift' | 'default-reset';

/**
 * One place in which wanted and live are apart: the smallest that says it all, so a single value, or
 * what is there on one side only. Values are whole, secrets apart: of those only the origin.
 */
export interface Difference {
  /** JSON pointer into the wanted spec; of what is removed, into the live one. */
  readonly path: string;
  /** Where `from` stands in the live spec; another path where entries of a list have shifted. */
  readonly livePath: string;
  /** `recorded`: already so on the server, only the record of what was applied is behind. */
  readonly difference: 'added' | 'changed' | 'removed' | 'recorded';
  /** As it is on the server; null when it is not set. */
  readonly from: Json;
  /** As wanted; null when it is cleared. */
  readonly to: Json;
  readonly secret: boolean;
  readonly reason: FieldReason;
}

export interface DiffInput extends Sameness {
  /** What this owner last applied; null when it never did. */
  readonly base: Spec | null;
  readonly desired: Spec;
  readonly live: Spec;
}

/**
 * Compares value by value after the three-way rule (docs/explanation/sync.md, Three-way rule): a field in neither
 * base nor desired is not ours; one in desired must equal live; one in base only goes back to its
 * default. Pure; the answer is ordered by path, whatever the order of keys.
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

/** Whether all is the same to the letter on all sides, as nearly always where little changes. */
function isAsWanted({ base, desired, live }: DiffInput): boolean {
  for (const key of Object.keys(desired)) {
    const value = desired[key];
    if (value === undefined || !isIdentical(value, live[key])) return false;
    if (base !== null && !isIdentical(value, base[key])) return false;
  }
  return base === null || Object.keys(base).every((key) => Object.hasOwn(desired, key));
}

/** Whether a spec says what was applied last, so that it differs from live only in what others changed. */
export function isAsApplied(kind: Sameness['kind'], base: Spec | null, desired: Spec): boolean {
  if (base === null) return false;
  const sides = { base, desired, live: base, sameReference: () => false };
  return diffSpecs({ kind, ...sides }).length === 0;
}

/** The top-level field a difference belongs to; the API takes and replaces whole fields. */
export function topLevelField({ path }: Difference): string {
  return segmentsOf(path)[0]!;
}

/** Where the two sides of a comparison stand; one and the same array until a list has shifted. */
export interface Place {
  readonly wanted: readonly string[];
  readonly live: readonly string[];
}

const top: Place = { wanted: [], live: [] };

export function below({ wanted, live }: Place, key: string, liveKey = key): Place {
  const path = [...wanted, key];
  return { wanted: path, live: wanted === live && key === liveKey ? path : [...live, liveKey] };
}

/** A removed value that no manifest ever named, so that its absence is the doing of a write. */
export function removal(place: Place, live: Json, reason: FieldReason): Difference {
  return differenceAt(place, live, undefined, 'removed', reason);
}

interface Comparison extends Sameness {
  /** Whether there is a base to compare with. */
  readonly hasBase: boolean;
  /** Below an entry of a list: lists are written whole, so that what is not wanted goes. */
  readonly isInList: boolean;
  readonly differences: Difference[];
}

function compare(
  at: Comparison,
  place: Place,
  base: Maybe,
  desired: Maybe,
  live: Maybe,
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
  const same = (one: Maybe, other: Maybe): boolean =>
    sameValue(at, segments, one, other, at.isInList);
  const equal = same(desired, live);
  if (!equal && hasEntries(desired) && hasEntries(live)) {
    compareLists(at, place, Array.isArray(base) ? base : [], desired, live);
    return;
  }
  if (equal && (!at.hasBase || same(desired, base))) return;
  const drifted = base !== undefined && !same(base, live);
  const isCleared = !exact && isEmpty(desired) && !Array.isArray(desired);
  // An entry of a list is there even where it holds nothing.
  const difference = isEntry ? 'changed' : isHollow ? 'added' : isCleared ? 'removed' : 'changed';
  at.differences.push(
    equal
      ? differenceAt(place, live, desired, 'recorded', 'change')
      : differenceAt(place, live, desired, difference, drifted ? 'drift' : 'change'),
  );
}

/** Entry by entry; what was added or removed is told as that, wherever in the list it stands. */
function compareLists(
  at: Comparison,
  place: Place,
  base: readonly Json[],
  desired: readonly Json[],
  live: readonly Json[],
): void {
  const segments = [...place.wanted, '0'];
  const same = (one: Json, other: Json): boolean => sameValue(at, segments, other, one, true);
  const align = isSet(at.kind, place.wanted) ? alignSets : alignLists;
  const applied = new Map(base.map((entry) => [sortedText(entry), entry]));
  const wasApplied = (item: Json): boolean => applied.has(sortedText(item));
  // By place while the server's list is as long, else by what it is.
  const entryAt = (index: number): Maybe =>
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

/** JSON text, the same for the same value, whatever the order of keys. */
export function sortedText(value: Json): string {
  return JSON.stringify(value, (_, inner: Json) =>
    isPlainObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [two]) => (one < two ? -1 : 1)))
      : inner,
  );
}

/** A field that was applied before and is wanted no more. */
function compareGone(at: Comparison, place: Place, base: Maybe, live: Maybe): void {
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

/** A key that is live but not wanted where the whole document is ours. */
function compareSurplus(at: Comparison, place: Place, base: Maybe, live: Maybe): void {
  if (live === undefined && base === undefined) return;
  at.differences.push(
    live === undefined
      ? differenceAt(place, live, undefined, 'recorded', 'change')
      : removal(place, live, at.hasBase && base === undefined ? 'drift' : 'change'),
  );
}

function differenceAt(
  { wanted, live: livePlace }: Place,
  live: Maybe,
  desired: Maybe,
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

/** A value fit for display: of a secret, and of what may be one, the origin; else the whole. */
function displayed(value: Maybe, at: readonly string[], side: 'server' | 'manifest'): Json {
  if (value === undefined) return null;
  return mapSpec({ value }, (inner, [, ...inside]) => {
    if (isSecret(inner)) return { $secret: inner.$secret, fingerprint: '' };
    if (typeof inner !== 'string' || inner === '') return undefined;
    if (!mayBeCredential([...at, ...inside], inner)) return undefined;
    return { $secret: side, fingerprint: '' };
  }).value!;
}

/** `{}` empties a field that the API replaces whole, and says nothing about one that it merges. */
function clears(at: Comparison, segments: readonly string[], desired: PlainObject): boolean {
  return Object.keys(desired).length === 0 && !isMerged(at, segments);
}

function isMerged({ kind }: Comparison, segments: readonly string[]): boolean {
  return segments.length === 1 && kind.merged.includes(segments[0]!);
}

function hasEntries(value: Maybe): value is Json[] {
  return Array.isArray(value) && value.length > 0;
}
