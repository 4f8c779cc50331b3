/** Reads cookies from a request header. */

/** Null when the cookie is absent or sent twice, as it is unclear which value applies. */
export function readCookie(header: string, name: string): string | null {
  const found = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.slice(name.length + 1) : null;
}
