/** Parses JSON so that numbers keep their digits when it is written again. */

interface RawJson {
  rawJSON(source: string): unknown;
  isRawJSON(value: unknown): boolean;
}
type Reviver = (key: string, value: unknown) => unknown;

const { rawJSON, isRawJSON } = JSON as unknown as RawJson;
/** Few texts have digits that could be written in another form; searching them is cheaper than a reviver. */
const otherForms = /\d[\d.]{15}|\d[eE]|\.\d*0(?!\d)|-0/;

/** Numbers that JavaScript would write in another form become objects, which only JSON.stringify reads. */
export function parseWithDigits(text: string): unknown {
  if (!otherForms.test(text)) return JSON.parse(text);
  const exact = (_: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, exact as Reviver);
}

/** The digits of a number that `parseWithDigits` has made an object; null for any other value. */
export function digitsOf(value: unknown): string | null {
  return isRawJSON(value) ? JSON.stringify(value) : null;
}
