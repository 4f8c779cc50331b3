/** Reads cookies from a request header. */

/** Null when the cookie is absent or sent twice, as it is unclear which value applies. */
export function readCookie(header: string, name: string): string | null {
  const matches = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  return matches.length === 1 ? matches[0]!.slice(name.length + 1) : null;
}
