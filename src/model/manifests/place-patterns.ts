/** Knows how the dotted patterns of the kinds table name places in a document, and how values there are replaced. */

/** Whether a dotted pattern names exactly this place; `*` is any one key, `**` any number of them. */
export function matchesPattern(pattern: string, segments: readonly string[]): boolean {
  return matchParts(partsOf(pattern), segments, false);
}

/** Whether a dotted pattern names this place or one that holds it. */
export function coversPattern(pattern: string, segments: readonly string[]): boolean {
  return matchParts(partsOf(pattern), segments, true);
}

/** Patterns come from the kinds table only, so there are few. */
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
  /** Whether there may be more segments than the parts name. */
  mayGoOn: boolean,
  from = 0,
  at = 0,
): boolean {
  for (let part = from, segment = at; ; part += 1, segment += 1) {
    const wanted = parts[part];
    if (wanted === undefined) return mayGoOn || segment === segments.length;
    if (wanted === '**') {
      for (let skipTo = segment; skipTo <= segments.length; skipTo += 1) {
        if (matchParts(parts, segments, mayGoOn, part + 1, skipTo)) return true;
      }
      return false;
    }
    if (segment >= segments.length || (wanted !== '*' && wanted !== segments[segment]))
      return false;
  }
}

type Document = Readonly<Record<string, unknown>>;

/** Of a value and where it stands; the path is good until this returns. */
type Replace = (value: unknown, segments: readonly string[]) => unknown;

/**
 * The document after `replace` was asked about every value, outermost first. What it returns takes the
 * value's place; `undefined` means: look inside. Where nothing was replaced nothing is copied.
 */
export function mapPlaces(document: Document, replace: Replace): Document {
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
