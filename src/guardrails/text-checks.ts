/** Implements the checks that search a text for words, patterns or JSON, and those that change it. */
import { LoopTurns, runPromptly } from '../slices.ts';
import {
  CheckError,
  type CheckRunner,
  makeOutcome,
  messageText,
  NothingToJudge,
  subjectText,
} from './check.ts';
import { foldLongText, foldText } from './detectors/folded-text.ts';
import { quantify } from './request-checks.ts';
import type { MatchRange } from './search.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters, searches: Searches) => CheckRunner;

/** `/pattern/flags`, a form that replace rules may have. */
const delimited = /^\/(.+)\/([a-z]*)$/s;
/** Long texts are searched in parts of this many characters, with turns of the event loop in between. */
const partCharacters = 1_000_000;

const regexMatch: CheckFactory =
  ({ rule, not }, searches) =>
  (subject) => {
    // A pattern that must not occur is searched everywhere; one that must occur, in the message.
    const text = not === true ? subjectText(subject) : messageText(subject);
    if (text === '') throw new NothingToJudge('there is no text to check');
    const outcomeOf = (isFound: boolean) =>
      makeOutcome(isFound, not, `the pattern ${isFound ? 'matches' : 'does not match'}`);
    const find = (sought: string) => searches.find(String(rule), '', sought);
    if (not !== true || isPlain(text)) {
      const finding = find(text);
      return finding instanceof Promise ? finding.then(outcomeOf) : outcomeOf(finding);
    }
    return findIn(text, find).then(outcomeOf);
  };

/** Searches a text as it is and as a reader sees it. */
async function findIn(
  text: string,
  find: (sought: string) => boolean | Promise<boolean>,
): Promise<boolean> {
  if (await find(text)) return true;
  const visible = await visibleText(text);
  return visible !== text && (await find(visible));
}

const regexReplace: CheckFactory = (parameters, searches) => {
  const { rule, redactText = '[REDACTED]', failOnDetection } = parameters;
  const [, pattern = String(rule), flags = ''] = delimited.exec(String(rule)) ?? [];
  const supportedFlags = [...'ims'].filter((flag) => flags.includes(flag)).join('');
  /** Replaces matches that hidden characters or other forms of letters divide. */
  const replaceHidden = async (text: string): Promise<string> => {
    const folded = await runPromptly(foldLongText(text));
    if (folded.text === text) return text;
    const ranges = (await searches.ranges(pattern, supportedFlags, folded.text)) ?? [];
    let result = '';
    let end = 0;
    for (const range of ranges) {
      result += text.slice(end, folded.startOf(range.start)) + String(redactText);
      end = folded.endOf(range.end);
    }
    return result + text.slice(end);
  };
  return async ({ passages, needsEdits }) => {
    const texts: string[] = [];
    const turns = new LoopTurns();
    for (const { text } of passages) {
      const turn = turns.next();
      if (turn !== undefined) await turn;
      const replaced = await searches.replace(pattern, supportedFlags, text, String(redactText));
      // The window of a stream contains the ranges of the text itself only.
      const isSeen = isPlain(replaced) || needsEdits === true;
      texts.push(isSeen ? replaced : await replaceHidden(replaced));
    }
    const isFound = passages.some(({ text }, at) => text !== texts[at]);
    const editing =
      isFound && needsEdits === true
        ? passages.map(({ text }) => searches.ranges(pattern, supportedFlags, text))
        : [];
    const edits = editsOf(await Promise.all(editing), String(redactText).length);
    const explanation = isFound ? 'matches were replaced' : 'the pattern does not match';
    return {
      passes: !(failOnDetection === true && isFound),
      explanation,
      texts: isFound ? texts : undefined,
      edits,
    };
  };
};

function editsOf(ranges: readonly (MatchRange[] | null)[], length: number) {
  const edits = ranges.flatMap((list) =>
    list === null ? [] : [list.map((one) => ({ ...one, length }))],
  );
  return edits.length > 0 && edits.length === ranges.length ? edits : undefined;
}

const contains: CheckFactory =
  ({ words, operator }) =>
  async (subject) => {
    const text = operator === 'none' ? subjectText(subject) : messageText(subject);
    const list = words as readonly string[];
    const turns = new LoopTurns();
    const visible = operator === 'none' && !isPlain(text) ? await visibleText(text) : text;
    const has: boolean[] = [];
    for (const word of list) {
      const isThere = await includesWord(text, word, turns);
      has.push(
        isThere || (visible !== text && (await includesWord(visible, visibleWord(word), turns))),
      );
    }
    const count = has.filter(Boolean).length;
    const explanation = `${count} of ${list.length} words are present`;
    return { passes: quantify(operator, 'any', has), explanation };
  };

/** Texts of ASCII alone hide nothing. */
function isPlain(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/** The text without hidden characters, in composed and compatible forms of letters. */
async function visibleText(text: string): Promise<string> {
  return (await runPromptly(foldLongText(text))).text.normalize('NFC');
}

function visibleWord(word: string): string {
  return foldText(word).text.normalize('NFC');
}

async function includesWord(text: string, word: string, turns: LoopTurns): Promise<boolean> {
  for (let at = 0; at === 0 || at < text.length; at += partCharacters) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    const isWhole = text.length <= partCharacters;
    const part = isWhole ? text : text.slice(at, at + partCharacters + word.length);
    if (part.includes(word)) return true;
  }
  return false;
}

const jsonKeys: CheckFactory =
  ({ keys, operator }, searches) =>
  async (subject) => {
    const objects = await searches.keysIn(messageText(subject), keys as readonly string[]);
    if (objects.length === 0) return { passes: false, explanation: 'there is no JSON object' };
    const passes = objects.some((has) => quantify(operator, 'any', has));
    return {
      passes,
      explanation: `checks whether ${String(operator ?? 'any')} of the keys are present`,
    };
  };

const jsonSchema: CheckFactory = ({ schema, not }, searches) => {
  const document = typeof schema === 'string' ? schema : JSON.stringify(schema);
  return async (subject) => {
    const validity = await searches.validityIn(messageText(subject), document);
    if (validity === 'none') return { passes: false, explanation: 'there is no JSON' };
    const isValid = validity === 'valid';
    return makeOutcome(
      isValid,
      not,
      `the JSON ${isValid ? 'matches' : 'does not match'} the schema`,
    );
  };
};

/** Adds a prefix to the last user message. */
const addPrefix: CheckFactory =
  ({ prefix, applyToRole = 'user', onlyIfEmpty, addToExisting }) =>
  ({ side, passages }) => {
    if (side !== 'input' || applyToRole !== 'user') {
      throw new CheckError('a prefix can be added to user input only');
    }
    const first = passages.find(({ isAside }) => isAside !== true);
    const isSet =
      first !== undefined &&
      (first.text === '' || (onlyIfEmpty !== true && addToExisting !== false));
    const texts = isSet
      ? passages.map((one) => (one === first ? `${String(prefix)}${one.text}` : one.text))
      : undefined;
    return { passes: true, explanation: `the prefix was ${isSet ? '' : 'not '}added`, texts };
  };

export const textChecks: Readonly<Record<string, CheckFactory>> = {
  'default.regexmatch': regexMatch,
  'default.regexreplace': regexReplace,
  'default.contains': contains,
  'default.addprefix': addPrefix,
  'default.jsonkeys': jsonKeys,
  'default.jsonschema': jsonSchema,
};
