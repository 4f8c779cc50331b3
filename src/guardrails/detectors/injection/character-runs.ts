/** Finds long runs of some ASCII characters in a text without looking at every character. */

/** Which character codes belong to a run. */
export type CharacterSet = Uint8Array;

export function characterSet(characters: string): CharacterSet {
  const set = new Uint8Array(128);
  for (const character of characters) set[character.charCodeAt(0)] = 1;
  return set;
}

/** A place in a text; `end` is exclusive. */
interface Run {
  readonly start: number;
  readonly end: number;
}

/** Yields the longest runs of at least `length` characters, which contain every `length`th place of the text. */
export function* findRuns(text: string, set: CharacterSet, length: number): Generator<Run> {
  let at = length - 1;
  while (at < text.length) {
    if (!has(set, text, at)) {
      at += length;
      continue;
    }
    let start = at;
    while (start > 0 && has(set, text, start - 1)) start -= 1;
    let end = at + 1;
    while (end < text.length && has(set, text, end)) end += 1;
    if (end - start >= length) yield { start, end };
    at = end + length;
  }
}

export function hasRun(text: string, set: CharacterSet, length: number): boolean {
  return findRuns(text, set, length).next().done !== true;
}

function has(set: CharacterSet, text: string, at: number): boolean {
  return set[text.charCodeAt(at)] === 1;
}
