/**
 * Pairs the entries of two lists, so that an added entry is reported as added. Written here because
 * diff libraries compare text or whole values and cannot pair similar entries.
 */
import type { SpecJson } from '../resources/resource-set.ts';
import { isPlainObject } from '../resources/spec-paths.ts';

/** Indexes of a pair; null on the side without a counterpart. */
export interface Pairing {
  readonly before: number | null;
  readonly after: number | null;
}

/** Longer edit scripts are not searched for; the rest is paired by position. */
const editsMax = 300;

/** Fields that identify an entry within its list. */
const identifying = ['id', 'name', 'key', 'slug', 'type', 'unit', 'target_field'];

/** Fields that suggest the same entry where the others are absent. */
const hinting = ['provider', 'virtual_key'];

/**
 * Pairs equal entries first (their longest common subsequence), then, between those, entries that
 * look like the same one, then by position. Pairs never cross, so a moved entry is one removed and
 * one added.
 */
export function alignLists<T extends SpecJson>(
  before: readonly T[],
  after: readonly T[],
  same: (one: T, other: T) => boolean,
): Pairing[] {
  const pairings: Pairing[] = [];
  let [from, to] = [0, 0];
  for (const anchor of [...commonRun(before, after, same), null]) {
    const gap = {
      before: indices(from, anchor?.before ?? before.length),
      after: indices(to, anchor?.after ?? after.length),
    };
    pairings.push(...pairGap(before, after, gap));
    if (anchor === null) break;
    pairings.push(anchor);
    [from, to] = [anchor.before + 1, anchor.after + 1];
  }
  return pairings;
}

/** Pairs lists whose order has no meaning: pairs may cross, and position does not matter. */
export function alignSets<T extends SpecJson>(
  before: readonly T[],
  after: readonly T[],
  same: (one: T, other: T) => boolean,
): Pairing[] {
  const left = new Set(before.keys());
  const take = (matches: (candidate: T) => boolean): number | null => {
    for (const index of left) {
      if (!matches(before[index]!)) continue;
      left.delete(index);
      return index;
    }
    return null;
  };
  const found = after.map((item) => take((candidate) => same(candidate, item)));
  const pairings = after.map((item, index): Pairing => {
    const mark = markOf(item, identifying);
    const match =
      found[index] ?? (mark === null ? null : take((one) => markOf(one, identifying) === mark));
    return { before: match, after: index };
  });
  return [...[...left].map((index): Pairing => ({ before: index, after: null })), ...pairings];
}

interface Anchor {
  readonly before: number;
  readonly after: number;
}

/**
 * Pairs equal entries at both ends, and between them those found by Myers' greedy diff algorithm.
 */
function commonRun<T>(
  before: readonly T[],
  after: readonly T[],
  same: (one: T, other: T) => boolean,
): Anchor[] {
  let head = 0;
  const shorter = Math.min(before.length, after.length);
  while (head < shorter && same(before[head]!, after[head]!)) head += 1;
  let tail = 0;
  while (tail < shorter - head && same(before.at(-1 - tail)!, after.at(-1 - tail)!)) tail += 1;
  const inner = shortestEdit(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
    same,
  );
  return [
    ...indices(0, head).map((at): Anchor => ({ before: at, after: at })),
    ...inner.map(
      (anchor): Anchor => ({ before: anchor.before + head, after: anchor.after + head }),
    ),
    ...indices(0, tail).map(
      (at): Anchor => ({
        before: before.length - tail + at,
        after: after.length - tail + at,
      }),
    ),
  ];
}

/**
 * Furthest index reached in `before` on each diagonal (index in `before` minus index in `after`).
 */
type Reach = Readonly<Record<number, number>>;

function shortestEdit<T>(
  before: readonly T[],
  after: readonly T[],
  same: (one: T, other: T) => boolean,
): Anchor[] {
  if (before.length === 0 || after.length === 0) return [];
  const trace: Reach[] = [];
  const reach: Record<number, number> = { 1: 0 };
  for (let edits = 0; edits <= editsMax; edits += 1) {
    trace.push({ ...reach });
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const origin = cameFrom(diagonal, edits, reach);
      let x = reach[origin]! + (origin < diagonal ? 1 : 0);
      while (isInside(before, x) && isInside(after, x - diagonal)) {
        if (!same(before[x]!, after[x - diagonal]!)) break;
        x += 1;
      }
      reach[diagonal] = x;
      if (x >= before.length && x - diagonal >= after.length) return wayBack(trace, before, after);
    }
  }
  return [];
}

/**
 * Returns the diagonal from which one edit leads furthest: the lower one removes an entry, the
 * upper one adds one.
 */
function cameFrom(diagonal: number, edits: number, reach: Reach): number {
  const adds =
    diagonal === -edits || (diagonal !== edits && reach[diagonal - 1]! < reach[diagonal + 1]!);
  return adds ? diagonal + 1 : diagonal - 1;
}

/** Returns the equal entries on the found path, in order. */
function wayBack(trace: readonly Reach[], before: readonly unknown[], after: readonly unknown[]) {
  const anchors: Anchor[] = [];
  let [x, y] = [before.length, after.length];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits]!;
    const origin = cameFrom(x - y, edits, reach);
    const startX = edits === 0 ? 0 : reach[origin]!;
    const startY = edits === 0 ? 0 : startX - origin;
    for (; x > startX && y > startY; x -= 1, y -= 1) anchors.push({ before: x - 1, after: y - 1 });
    [x, y] = [startX, startY];
  }
  return anchors.reverse();
}

function isInside(list: readonly unknown[], index: number): boolean {
  return index >= 0 && index < list.length;
}

interface Gap {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** Pairs the entries between two equal ones: similar ones in order, then by position. */
function pairGap(before: readonly SpecJson[], after: readonly SpecJson[], gap: Gap): Pairing[] {
  const pairs = likeOnes(before, after, gap);
  const pairings: Pairing[] = [];
  let [from, to] = [0, 0];
  for (const pair of [...pairs, null]) {
    const untilBefore = pair === null ? gap.before.length : pair.before - gap.before[0]!;
    const untilAfter = pair === null ? gap.after.length : pair.after - gap.after[0]!;
    pairings.push(
      ...byPosition(before, after, {
        before: gap.before.slice(from, untilBefore),
        after: gap.after.slice(to, untilAfter),
      }),
    );
    if (pair !== null) pairings.push(pair);
    [from, to] = [untilBefore + 1, untilAfter + 1];
  }
  return pairings;
}

function likeOnes(before: readonly SpecJson[], after: readonly SpecJson[], gap: Gap): Anchor[] {
  const mark = (item: SpecJson): string | null =>
    markOf(item, identifying) ?? markOf(item, hinting);
  const marks = gap.after.map((index) => mark(after[index]!));
  const pairs: Anchor[] = [];
  let next = 0;
  for (const index of gap.before) {
    const wanted = mark(before[index]!);
    const found = wanted === null ? -1 : marks.indexOf(wanted, next);
    if (found < 0) continue;
    pairs.push({ before: index, after: gap.after[found]! });
    next = found + 1;
  }
  return pairs;
}

function byPosition(before: readonly SpecJson[], after: readonly SpecJson[], gap: Gap): Pairing[] {
  const isEven = gap.before.length === gap.after.length;
  const pairings: Pairing[] = [];
  const added: Pairing[] = [];
  for (let at = 0; at < Math.max(gap.before.length, gap.after.length); at += 1) {
    const one = gap.before[at] ?? null;
    const other = gap.after[at] ?? null;
    const isPair = one !== null && other !== null && mayPair(before[one]!, after[other]!, isEven);
    if (isPair) pairings.push({ before: one, after: other });
    else {
      if (one !== null) pairings.push({ before: one, after: null });
      if (other !== null) added.push({ before: null, after: other });
    }
  }
  return [...pairings, ...added];
}

/**
 * Entries that identify themselves differently never pair; single values pair only if none was
 * added.
 */
function mayPair(one: SpecJson, other: SpecJson, isEven: boolean): boolean {
  const isNested = (item: SpecJson): boolean => typeof item === 'object' && item !== null;
  if (!isNested(one) || !isNested(other)) return isEven;
  return markOf(one, identifying) === null && markOf(other, identifying) === null;
}

function markOf(item: SpecJson, fields: readonly string[]): string | null {
  if (!isPlainObject(item)) return null;
  const values = fields.map((field) => item[field]).filter((value) => value !== undefined);
  return values.length === 0 ? null : JSON.stringify(values);
}

function indices(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}
