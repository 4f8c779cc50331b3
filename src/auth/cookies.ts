/** Knows how a header of cookies is read. */

/** Null where it is not there, or there twice: nobody could say which of them counts. */
export function readCookie(header: string, name: string): string | null {
  const found = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.slice(name.length + 1) : null;
}
