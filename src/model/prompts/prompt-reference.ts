/** Knows how one text names a prompt or a partial, and which version of it: `welcome@staging`. */

/** What stands before the `@`, an id or slug, and behind it; undefined for none. */
export function splitReference(reference: string): [string, string | undefined] {
  const at = reference.indexOf('@');
  return at < 0 ? [reference, undefined] : [reference.slice(0, at), reference.slice(at + 1)];
}
