/** Knows how the dotted patterns of the kinds table name places in a document, and how values there are replaced. */

/** Whether a dotted pattern names exactly this place; `*` is any one key, `**` any number of them. */
export function matchesPattern(pattern: string, segments: readonly string[]): boolean {
  return matchParts(partsOf(pattern), segments);
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
  from = 0,
  at = 0,
): boolean {
  for (let part = from, segment = at; ; part += 1, segment += 1) {
    const wanted = parts[part];
    if (wanted === undefined) return segment === segments.length;
    if (wanted === '**') {
      for (let skipTo = segment; skipTo <= segments.length; skipTo += 1) {
        if (matchParts(parts, segments, part + 1, skipTo)) return true;
      }
      return false;
    }
    if (segment >= segments.length || (wanted !== '*' && wanted !== segments[segment]))
      return false;
  }
}

/**
 * A copy of the document in which `replace` was asked about every value, outermost first. What it
 * returns takes the value's place; `undefined` means: look inside.
 */
export function mapPlaces(
  document: Readonly<Record<string, unknown>>,
  replace: (value: unknown, segments: readonly string[]) => unknown,
): Record<string, unknown> {
  const visit = (value: unknown, segments: readonly string[]): unknown => {
    const replaced = replace(value, segments);
    if (replaced !== undefined) return replaced;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item, at) => visit(item, [...segments, `${at}`]));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(item, [...segments, key])]),
    );
  };
  return Object.fromEntries(
    Object.entries(document).map(([key, value]) => [key, visit(value, [key])]),
  );
}
