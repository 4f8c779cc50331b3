/** Matches paths in a document against the dotted patterns of the kinds table, and replaces values by path. */

/** Part of a pattern: any number of `targets` with an index, including none, as levels of a config nest. */
export const levelsPart = '{targets}';
export const levelsKey = 'targets';

/** Identifies a path in a map. */
export const pathIdentifier = (path: readonly string[]): string => JSON.stringify(path);

/**
 * Whether a dotted pattern matches exactly this path; `*` is one key, `**` any number of keys,
 * {@link levelsPart} any number of levels of a config.
 */
export function matchesPattern(pattern: string, segments: readonly string[]): boolean {
  return matchParts(partsOf(pattern), segments, false);
}

/** Whether a dotted pattern matches this path or a path above it. */
export function matchesPatternOrParent(pattern: string, segments: readonly string[]): boolean {
  return matchParts(partsOf(pattern), segments, true);
}

/** Split patterns; few, because patterns come from the kinds table only. */
const splitPatterns = new Map<string, readonly string[]>();

function partsOf(pattern: string): readonly string[] {
  let parts = splitPatterns.get(pattern);
  if (parts === undefined) {
    parts = pattern.split('.');
    splitPatterns.set(pattern, parts);
  }
  return parts;
}

function matchParts(
  parts: readonly string[],
  segments: readonly string[],
  /** Whether there may be more segments than the pattern has parts. */
  allowsMore: boolean,
  from = 0,
  at = 0,
): boolean {
  for (let part = from, segment = at; ; part += 1, segment += 1) {
    const expected = parts[part];
    if (expected === undefined) return allowsMore || segment === segments.length;
    if (expected === '**') {
      for (let skipTo = segment; skipTo <= segments.length; skipTo += 1) {
        if (matchParts(parts, segments, allowsMore, part + 1, skipTo)) return true;
      }
      return false;
    }
    if (expected === levelsPart) {
      for (let level = segment; ; level += 2) {
        if (matchParts(parts, segments, allowsMore, part + 1, level)) return true;
        if (segments[level] !== levelsKey || level + 1 >= segments.length) return false;
      }
    }
    if (segment >= segments.length || (expected !== '*' && expected !== segments[segment]))
      return false;
  }
}

/**
 * Returns what remains of a split pattern after one key, in every way in which it can match; a part that
 * matches any number of keys also matches none.
 */
export function remainingParts(parts: readonly string[], key: string): (readonly string[])[] {
  const [first, ...rest] = parts;
  if (first === '**') return withoutKeys(parts);
  if (first === levelsPart) return key === levelsKey ? [['*', ...parts]] : [];
  return first === key || first === '*' ? withoutKeys(rest) : [];
}

/** The parts themselves and, while they begin with a part that may match no key, the parts behind it. */
export function withoutKeys(parts: readonly string[]): (readonly string[])[] {
  const mayBeEmpty = parts[0] === '**' || parts[0] === levelsPart;
  return mayBeEmpty ? [parts, ...withoutKeys(parts.slice(1))] : [parts];
}

type Document = Readonly<Record<string, unknown>>;

/** Receives a value and its path. The path array is reused, so copy it to retain it. */
type Replace = (value: unknown, segments: readonly string[]) => unknown;

/**
 * Calls `replace` for every value, outermost first, and returns the document with the results in place
 * of the values. A result of `undefined` keeps the value and descends into it. Unchanged parts are
 * shared with the input, not copied.
 */
export function replaceValues(document: Document, replace: Replace): Document {
  return mapMembers(document, replace, []);
}

function mapValue(value: unknown, replace: Replace, path: string[]): unknown {
  const replaced = replace(value, path);
  if (replaced !== undefined) return replaced;
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value)
    ? mapItems(value, replace, path)
    : mapMembers(value as Document, replace, path);
}

function mapItems(items: readonly unknown[], replace: Replace, path: string[]): unknown {
  let copy: unknown[] | undefined;
  for (const [at, item] of items.entries()) {
    path.push(`${at}`);
    const mapped = mapValue(item, replace, path);
    path.pop();
    if (mapped === item) continue;
    copy ??= [...items];
    copy[at] = mapped;
  }
  return copy ?? items;
}

function mapMembers(object: Document, replace: Replace, path: string[]): Document {
  let copy: [string, unknown][] | undefined;
  for (const [at, key] of Object.keys(object).entries()) {
    path.push(key);
    const mapped = mapValue(object[key], replace, path);
    path.pop();
    if (mapped === object[key]) continue;
    copy ??= Object.entries(object);
    copy[at]![1] = mapped;
  }
  return copy === undefined ? object : Object.fromEntries(copy);
}
