/** Makes visible what a text hides: invisible letters, look-alikes, and instructions in an encoding. */
import { foldText } from '../folded-text.ts';
import { characterSet, findRuns, hasRun } from './character-runs.ts';

/** Letters of other scripts that look like Latin ones. */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  [...'аaвbеeзeкkмmнhоoрpсcтtуyхxіiјjѕsԁdԛqԝwɡgαaβbεeηnιiκkνvοoρpτtυuχxγyωwմuոnօoѵvһhӏl'].flatMap(
    (letter, at, all) => (at % 2 === 0 ? [[letter, all[at + 1]!] as const] : []),
  ),
);
const mixedWord = /(?=\S{0,60}[a-z])(?=\S{0,60}[Ͱ-ϿЀ-ӿԱ-ևɡ])\S{2,60}/gi;
/** Digits and signs that stand for letters. */
const leetLetters: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
};
const leetSign = /[@$013457]/g;
const leetWord = /^[a-z]{0,20}[@$013457][a-z@$013457]{2,30}$/i;
const leetWordCharacters = 51;
/** Characters of words with signs; a longer run of them is no word. */
const wordCharacters = characterSet(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@$',
);
/** White space and marks in a row, unless they are one blank. */
const separators = / [\s_*~"“”«»]+|[[\s_*~"“”«»]--[ ]][\s_*~"“”«»]*/gv;

/** The text in plain letters: NFKC, without invisible characters, look-alikes and digits for letters replaced. */
export function unmaskedText(text: string): string {
  const { text: folded } = foldText(text);
  const latin = /[^\0-\x7f]/.test(folded)
    ? folded.replace(mixedWord, (word) =>
        [...word].map((letter) => lookAlikes.get(letter.toLowerCase()) ?? letter).join(''),
      )
    : folded;
  return withLetters(latin).replace(separators, ' ');
}

/** Replaces digits and signs in words that consist of them and letters. */
function withLetters(text: string): string {
  let replaced = '';
  let copied = 0;
  leetSign.lastIndex = 0;
  for (let sign = leetSign.exec(text); sign !== null; sign = leetSign.exec(text)) {
    const { start, end } = wordAround(text, sign.index);
    leetSign.lastIndex = end;
    if (end - start > leetWordCharacters) continue;
    const word = text.slice(start, end);
    if (!leetWord.test(word) || !/[a-z].*[a-z]/i.test(word)) continue;
    const letters = word.replace(/[013457@$]/g, (one) => leetLetters[one]!);
    replaced += text.slice(copied, start) + letters;
    copied = end;
  }
  return copied === 0 ? text : replaced + text.slice(copied);
}

function wordAround(text: string, at: number): { readonly start: number; readonly end: number } {
  // Places outside of the text have no character.
  const isWord = (place: number): boolean => wordCharacters[text.charCodeAt(place)] === 1;
  let start = at;
  while (isWord(start - 1)) start -= 1;
  let end = at + 1;
  while (isWord(end)) end += 1;
  return { start, end };
}

const tagCharacters = /[\u{e0020}-\u{e007e}]{4,}/gu;
/** The flags of England, Scotland and Wales are written with tag characters. */
const flags = /\u{1f3f4}[\u{e0020}-\u{e007e}]{1,8}\u{e007f}/gu;
const invisibleRun = /[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{12,}/;
/** Characters that turn the direction of what follows, whatever its letters. */
const directionOverrides = /[\u202d\u202e]/;

/** Text in tag characters, which no reader sees but a model can read; '' without any. */
export function tagText(text: string): string {
  if (!/\u{e0020}|[\u{e0021}-\u{e007e}]/u.test(text)) return '';
  const runs = text.replace(flags, '').match(tagCharacters) ?? [];
  return runs
    .map((run) =>
      [...run].map((one) => String.fromCharCode(one.codePointAt(0)! - 0xe0000)).join(''),
    )
    .join(' ');
}

/** Whether characters without a shape hide something: long runs of them, or a turned direction of Latin text. */
export function hasInvisibleText(text: string): boolean {
  if (invisibleRun.test(text)) return true;
  return directionOverrides.test(text) && !/[\u0590-\u08ff]/.test(text);
}

const base64Characters = characterSet(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-',
);
const base64CharactersMin = 24;
const hexCharacters = characterSet('0123456789abcdefABCDEF :');
const hexCharactersMin = 32;
const hexRun = /(?<![\da-zA-Z])(?:[\da-f]{2}[ :]?){16,}(?![\da-zA-Z])|(?:\\x[\da-f]{2}){12,}/gi;
const percentRun = /(?:[\w.!~*'()-]{0,40}%[\da-f]{2}){5,}[\w.!~*'()-]{0,40}/gi;
const rotated = /vafgehpgvba|cebzcg|thvqryvar|qverpgvir/i;
const reversed = /snoitcurtsni|tpmorp|senilediug/i;
const decodedCharactersMax = 8 * 1024;

/** Texts that are encoded in the text: in base64, hexadecimal, percent signs, rot13 or reversed. */
export function decodedTexts(text: string): string[] {
  const decoded: string[] = [];
  for (const { start, end } of findRuns(text, base64Characters, base64CharactersMin)) {
    // Behind an equals sign a run is the value of a parameter.
    if (text[start - 1] === '=') continue;
    decoded.push(printable(Buffer.from(text.slice(start, end), 'base64')));
  }
  if (/\\x/i.test(text) || hasRun(text, hexCharacters, hexCharactersMin)) {
    for (const [run] of text.matchAll(hexRun)) {
      decoded.push(printable(Buffer.from(run.replace(/[\s:]|\\x/g, ''), 'hex')));
    }
  }
  if (text.includes('%')) {
    for (const [run] of text.matchAll(percentRun)) {
      decoded.push(
        run.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      );
    }
  }
  if (rotated.test(text)) decoded.push(text.replace(/[a-z]/gi, rotateLetter));
  if (reversed.test(text)) decoded.push([...text].toReversed().join(''));
  return decoded.filter((one) => one !== '');
}

/** The bytes as a text, or '' if they are none. */
function printable(bytes: Buffer): string {
  const head = bytes.subarray(0, 32).toString('latin1');
  if (!/^[\t\n\r\x20-\x7e\x80-\xff]*$/.test(head) || !/[a-z ]{4}/i.test(head)) return '';
  return bytes.subarray(0, decodedCharactersMax).toString('utf8');
}

function rotateLetter(letter: string): string {
  const base = letter <= 'Z' ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
}
