/** Parses JSON so that large integers are written back digit by digit. */

declare global {
  interface JSON {
    /** A value that is serialised as this text. */
    rawJSON(text: string): object;
  }
}

/** Integers with fewer digits are exact. */
const longNumbers = /(?<![\w.])\d{16,}/g;
/** Few texts have any; the test costs a quarter of a search for the numbers themselves. */
const manyDigits = /\d{16}/;
const safeDigits = String(Number.MAX_SAFE_INTEGER);
const wholeNumber = /^-?\d+$/;

/** Preserves 64-bit ids in tool arguments, whose last digits JSON.parse would lose. */
export function parseExactly(text: string): unknown {
  if (!mayLoseDigits(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? '';
    return wholeNumber.test(source) ? JSON.rawJSON(source) : value;
  });
}

/** JSON schemas often contain the largest safe integer, which needs no slow reading. */
function mayLoseDigits(text: string): boolean {
  if (!manyDigits.test(text)) return false;
  for (const [digits] of text.matchAll(longNumbers)) {
    if (digits.length > safeDigits.length || digits > safeDigits) return true;
  }
  return false;
}
