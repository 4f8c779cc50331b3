/** Applies the fields of a plan document to the live spec. */
import { type KindName, kinds } from '../../../src/model/kinds/kinds.ts';
import {
  matchesPattern,
  matchesPatternOrParent,
} from '../../../src/model/manifests/path-patterns.ts';
import type { Spec, SpecJson } from '../../../src/sync/resources/resource-set.ts';
import { segmentsOf } from '../../../src/sync/resources/spec-paths.ts';

/**
 * Normalises a spec by an independent implementation of the rules: empty values are absent, sets
 * are sorted.
 */
export function meaning(
  kind: KindName,
  value: SpecJson,
  path: readonly string[] = [],
): SpecJson | undefined {
  const { opaque, sets } = kinds[kind];
  const isExact =
    opaque.some((pattern) => matchesPatternOrParent(pattern, path)) &&
    !opaque.some((pattern) => matchesPattern(pattern, path));
  const isNothing =
    value === null ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0);
  if (!isExact && isNothing && path.length > 0) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item, at) => meaning(kind, item, [...path, `${at}`]) ?? null);
    const isSet = sets.some((pattern) => matchesPattern(pattern, path));
    return isSet
      ? items
          .map((item) => [JSON.stringify(item)])
          .sort()
          .flat()
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .map(([name, item]) => [name, meaning(kind, item, [...path, name])] as const)
    .filter(([, item]) => item !== undefined)
    .toSorted(([one], [two]) => (one < two ? -1 : 1));
  const isTop = path.length === 0;
  return entries.length === 0 && !isExact && !isTop
    ? undefined
    : (Object.fromEntries(entries) as SpecJson);
}

export interface ExpectedField {
  readonly path: string;
  readonly livePath: string;
  readonly difference: 'added' | 'changed' | 'removed' | 'recorded';
  readonly to: SpecJson;
}

/**
 * The live value with the reported fields applied: `at` is its path, `wantedAt` the path of the
 * result.
 */
export function patched(
  value: SpecJson | undefined,
  fields: readonly ExpectedField[],
  at: readonly string[],
  wantedAt: readonly string[],
): SpecJson | undefined {
  const stands = (path: string, place: readonly string[]): boolean =>
    JSON.stringify(segmentsOf(path)) === JSON.stringify(place);
  const own = fields.find(({ livePath, path, difference }) =>
    difference === 'added' ? stands(path, wantedAt) : stands(livePath, at),
  );
  if (own?.difference === 'recorded') return value;
  if (own !== undefined) return own.difference === 'removed' ? (own.to ?? undefined) : own.to;
  const inside = fields.filter(
    ({ path, livePath }) =>
      segmentsOf(path).length > wantedAt.length || segmentsOf(livePath).length > at.length,
  );
  if (inside.length === 0) return value;
  if (Array.isArray(value) && value.length > 0) return patchedList(value, inside, at, wantedAt);
  const holder = typeof value === 'object' && value !== null ? (value as Spec) : {};
  const begins = (path: string): string | undefined => {
    const segments = segmentsOf(path);
    const leads = wantedAt.every((name, place) => segments[place] === name);
    return leads ? segments[wantedAt.length] : undefined;
  };
  const come = inside.filter((field) => !isGone(field));
  const added = come.map(({ path }) => begins(path)).filter((name) => name !== undefined);
  const names = [...new Set([...Object.keys(holder), ...added])];
  if (names.length === 0) return value;
  const entries = names
    .map((name) => [name, patched(holder[name], inside, [...at, name], [...wantedAt, name])])
    .filter(([, item]) => item !== undefined);
  if (entries.length === 0 && typeof value !== 'object') return value;
  return Object.fromEntries(entries);
}

/** Its path exists in the live value only. */
function isGone({ difference, path, livePath }: ExpectedField): boolean {
  return difference === 'removed' && path === livePath;
}

function patchedList(
  list: readonly SpecJson[],
  fields: readonly ExpectedField[],
  at: readonly string[],
  wantedAt: readonly string[],
): SpecJson {
  const indexIn = (path: string, place: readonly string[]): number | null => {
    const segments = segmentsOf(path);
    const leads =
      segments.length > place.length && place.every((name, depth) => segments[depth] === name);
    return leads ? Number(segments[place.length]) : null;
  };
  const isItem = (path: string, place: readonly string[]): boolean =>
    segmentsOf(path).length === place.length + 1 && indexIn(path, place) !== null;
  const removed = new Set(
    fields
      .filter(({ difference, path }) => difference === 'removed' && isItem(path, at))
      .map(({ path }) => indexIn(path, at)),
  );
  const added = new Map(
    fields
      .filter(({ difference, path }) => difference === 'added' && isItem(path, wantedAt))
      .map((field) => [indexIn(field.path, wantedAt), field.to] as const),
  );
  const pairs = new Map<number, number>();
  for (const { path, livePath } of fields.filter((field) => !isGone(field))) {
    const [to, from] = [indexIn(path, wantedAt), indexIn(livePath, at)];
    if (to !== null && from !== null && !added.has(to) && !removed.has(from)) pairs.set(to, from);
  }
  const left = list
    .map((_, index) => index)
    .filter((index) => !removed.has(index) && ![...pairs.values()].includes(index));
  const length = list.length - removed.size + added.size;
  return Array.from({ length }, (_, index): SpecJson => {
    if (added.has(index)) return added.get(index)!;
    const from = pairs.get(index) ?? left.shift()!;
    return patched(list[from]!, fields, [...at, `${from}`], [...wantedAt, `${index}`]) ?? null;
  });
}
