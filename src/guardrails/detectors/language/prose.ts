/** Extracts the prose of a text, for checks of its language and sense. */
import type { Slices } from '../../../slices.ts';

/** Characters of a piece that is worked on at once. */
const pieceCharacters = 16 * 1024;
/** Code spans, addresses and tags, which may contain blanks. */
const marked = /`[^`\n]{1,300}`|<\/?[A-Za-z][^<>]{0,300}>/g;
/** Words with digits or signs in them, and identifiers such as `camelCase` and `module.name`. */
const technical = /[\d_@#\\/=<>{}[\]|~^$&*+]|\p{Ll}\p{Lu}|\p{L}[.:]\p{L}/u;

/** The first characters of the prose decide, so that the longest texts cost no more than others. */
const proseCharactersMax = 100_000;

/** Returns the text without blocks of code and technical words, up to a bound. */
export function* findProse(text: string): Slices<string> {
  let prose = '';
  let fences = 0;
  for (let start = 0; start < text.length; ) {
    const end = fenceAt(text, start);
    for (let from = start; from < end; from += pieceCharacters) {
      const piece = text.slice(from, Math.min(end, from + pieceCharacters)).replace(marked, ' ');
      prose += `${piece.replace(/\S+/g, (word) => (technical.test(word) ? '' : word))} `;
      if (prose.length >= proseCharactersMax) return prose;
      yield;
    }
    start = fenceAt(text, end + fence.length) + fence.length;
    fences += 1;
    if (fences % interruptedFences === 0) yield;
  }
  return prose;
}

const fence = '```';
/** Blocks of code between two interruptions. */
const interruptedFences = 1_000;

/** Where the next fence starts, or the end of the text. */
function fenceAt(text: string, from: number): number {
  const at = text.indexOf(fence, from);
  return at === -1 ? text.length : at;
}

/** Letters of scripts that write a syllable or a word with one character. */
const denseLetters = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu;
/** A dense letter stands for this many others. */
const denseWeight = 4;

/** Counts letters; one that stands for a syllable or a word counts as four. */
export function letterCount(text: string): number {
  const dense = text.match(denseLetters)?.length ?? 0;
  return (text.match(/\p{L}/gu)?.length ?? 0) + dense * (denseWeight - 1);
}
