/** Finds numbers in JSON that parsing rounds, so that guardrails judge the digits that are sent. */

/** Shorter numbers have an exact form. */
const digitsMin = 16;
const long = new RegExp(`[0-9][0-9.]{${digitsMin - 1},}`);
/** Strings are skipped; a number begins where none can continue. */
const tokens = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;

/** Returns the numbers as the JSON writes them; none for most texts. */
export function alteredNumbers(json: Buffer): string[] {
  const text = json.toString('latin1');
  if (!long.test(text)) return [];
  const found: string[] = [];
  for (const [token] of text.matchAll(tokens)) {
    const isNumber = token.length >= digitsMin && !token.startsWith('"');
    if (isNumber && String(Number(token)) !== token) found.push(token);
  }
  return found;
}
