/** Knows where a text holds JSON: all of it, between fences, or anywhere between its braces. */

/** Beginnings that lead nowhere, of which each costs a walk to the end. */
const startsMax = 50;

/** The values that are found; objects and lists only, save where the whole text is one value. */
export function jsonIn(text: string): unknown[] {
  const whole = parsed(text.trim());
  if (whole !== undefined) return [whole];
  const fenced = [...text.matchAll(/```[a-zA-Z]*\s*\n([^`]+)```/g)]
    .map(([, inner = '']) => parsed(inner.trim()))
    .filter((value) => value !== undefined);
  return fenced.length > 0 ? fenced : between(text);
}

/** From a brace that opens to the one that closes it. */
function between(text: string): unknown[] {
  const found: unknown[] = [];
  let starts = 0;
  let at = nextStart(text, 0);
  while (at >= 0 && starts < startsMax) {
    const end = closing(text, at);
    const value = end < 0 ? undefined : parsed(text.slice(at, end));
    if (value === undefined) {
      starts += 1;
      at = nextStart(text, at + 1);
    } else {
      found.push(value);
      at = nextStart(text, end);
    }
  }
  return found;
}

function nextStart(text: string, from: number): number {
  const offset = text.slice(from).search(/[{[]/);
  return offset < 0 ? -1 : from + offset;
}

/** Behind the brace or bracket that closes; -1 for none. */
function closing(text: string, start: number): number {
  const marks = /[{}[\]]|"(?:[^"\\]|\\.)*"/gs;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '{' || mark[0] === '[') depth += 1;
    else if (mark[0] === '}' || mark[0] === ']') depth -= 1;
    if (depth === 0) return marks.lastIndex;
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
