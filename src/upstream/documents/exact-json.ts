/** Parses JSON so that large integers are written back digit by digit. */

declare global {
  interface JSON {
    /** A value that is serialised as this text. */
    rawJSON(text: string): object;
  }
}

/** Integers with fewer digits are exact. */
const longNumber = /\d{16}/;
const wholeNumber = /^-?\d+$/;

/** Preserves 64-bit ids in tool arguments, whose last digits JSON.parse would lose. */
export function parseExactly(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? '';
    return wholeNumber.test(source) ? JSON.rawJSON(source) : value;
  });
}
