/** Parses paths in texts, such as `spec.defaults.team` or `headers["x-team"]`. */

/** One key: `.rateLimits`, or `["x-team"]` for a key that is no identifier. */
const part = /\.?([A-Za-z_$@][\w$@-]*)|\[("(?:[^"\\]|\\.)*")\]/y;

/** Returns undefined for an invalid path. */
export function keysOfPath(text: string): string[] | undefined {
  const keys: string[] = [];
  for (let at = 0; at < text.length; at = part.lastIndex) {
    part.lastIndex = at;
    const [, word, quoted] = part.exec(text) ?? [];
    const key = word ?? textOf(quoted);
    if (key === undefined || key === '__proto__') return undefined;
    keys.push(key);
  }
  return keys;
}

function textOf(quoted: string | undefined): string | undefined {
  if (quoted === undefined) return undefined;
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}
