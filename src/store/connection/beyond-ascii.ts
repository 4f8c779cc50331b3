/** Knows how a statement is asked again whose texts a column of ASCII cannot be compared with. */
import { escape as quoted, raw } from 'mysql2';

/** Illegal mixes of two, three and more collations, and a text that cannot be converted. */
const mixedErrnos: readonly unknown[] = [1267, 1270, 1271, 3854];

/** Of the whole text. */
const asciiPattern = /^[\u0000-\u007f]*$/;

/**
 * The parameters with which a refused statement finds what it asks for; null where they were not what it
 * was refused for. A server converts a text to the column's characters, and refuses one that has others;
 * of a text that names its own collation it converts the column, without an index. Only those who name
 * what cannot be there pay for that.
 */
export function widened(error: unknown, parameters: readonly unknown[]): readonly unknown[] | null {
  const isMixed = error instanceof Error && 'errno' in error && mixedErrnos.includes(error.errno);
  if (!isMixed || !parameters.some(isBeyond)) return null;
  return parameters.map((one) => (isBeyond(one) ? raw(`${quoted(one)} COLLATE utf8mb4_bin`) : one));
}

function isBeyond(value: unknown): value is string {
  return typeof value === 'string' && !asciiPattern.test(value);
}
