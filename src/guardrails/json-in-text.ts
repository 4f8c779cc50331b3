/** Finds JSON in a text: the whole text, fenced blocks, or anything between braces. */
import { readJson } from '../model/json/read-object.ts';

/** Maximum start positions that yield no JSON; each costs a scan to the end of the text. */
const startsMax = 50;

/** Returns the values. They are objects and lists, unless the whole text is one value. */
export function jsonIn(text: string): unknown[] {
  const whole = readJson(text.trim());
  if (whole !== undefined) return [whole];
  const fenced = [...text.matchAll(/```[a-zA-Z]*\s*\n([^`]+)```/g)]
    .map(([, inner = '']) => readJson(inner.trim()))
    .filter((value) => value !== undefined);
  return fenced.length > 0 ? fenced : jsonBetweenBraces(text);
}

/** Finds values from an opening brace or bracket to the matching closing one. */
function jsonBetweenBraces(text: string): unknown[] {
  const values: unknown[] = [];
  let starts = 0;
  let at = nextStart(text, 0);
  while (at >= 0 && starts < startsMax) {
    const end = closingOffset(text, at);
    const value = end < 0 ? undefined : readJson(text.slice(at, end));
    if (value === undefined) {
      starts += 1;
      at = nextStart(text, at + 1);
    } else {
      values.push(value);
      at = nextStart(text, end);
    }
  }
  return values;
}

function nextStart(text: string, from: number): number {
  const offset = text.slice(from).search(/[{[]/);
  return offset < 0 ? -1 : from + offset;
}

/** Returns the offset after the matching closing brace or bracket; -1 if there is none. */
function closingOffset(text: string, start: number): number {
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
