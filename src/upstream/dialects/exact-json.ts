/** Knows how JSON is read so that its whole numbers are written again as they were, however long they are. */

declare global {
  interface JSON {
    /** A value that is written as this text. */
    rawJSON(text: string): object;
  }
}

/** No whole number of fewer digits is beyond what a number holds. */
const longNumber = /\d{16}/;
const wholeNumber = /^-?\d+$/;

/** Arguments of tools name things by numbers of 64 bits, of which the last digits would be lost. */
export function parseExactly(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? '';
    return wholeNumber.test(source) ? JSON.rawJSON(source) : value;
  });
}
