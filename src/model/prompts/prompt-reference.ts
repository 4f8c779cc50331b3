/** Parses references to prompts and partials, which can name a version: `welcome@staging`. */

/** Returns the id or slug before the `@` and the version after it; undefined without a version. */
export function splitReference(reference: string): [string, string | undefined] {
  const at = reference.indexOf('@');
  return at < 0 ? [reference, undefined] : [reference.slice(0, at), reference.slice(at + 1)];
}
