/** Rewrites the parameters of a statement that was refused because an ASCII column cannot be compared with them. */
import { escape as quoted, raw } from 'mysql2';

/** Illegal mix of two, three or more collations, and a text that cannot be converted. */
const mixedErrnos: readonly unknown[] = [1267, 1270, 1271, 3854];

const asciiPattern = /^[\u0000-\u007f]*$/;

/**
 * The parameters with which a refused statement is sent again, each text with an explicit collation.
 * Null when the statement was refused for another reason.
 *
 * A server converts a text to the column's character set and refuses a text with other characters. For
 * a text with its own collation it converts the column instead, which uses no index. Only statements
 * that ask for what cannot exist pay for that.
 */
export function widened(error: unknown, parameters: readonly unknown[]): readonly unknown[] | null {
  const isMixed = error instanceof Error && 'errno' in error && mixedErrnos.includes(error.errno);
  if (!isMixed || !parameters.flat().some(isBeyond)) return null;
  return parameters.map((one) => (Array.isArray(one) ? one.map(collated) : collated(one)));
}

function collated(value: unknown): unknown {
  return isBeyond(value) ? raw(`${quoted(value)} COLLATE utf8mb4_bin`) : value;
}

function isBeyond(value: unknown): value is string {
  return typeof value === 'string' && !asciiPattern.test(value);
}
