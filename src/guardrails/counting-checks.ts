/** Implements the checks of length, suffix, case, emptiness and code blocks. */

import { longLengthMin, run, type Slices } from '../slices.ts';
import {
  type CheckRunner,
  type CheckSubject,
  makeOutcome,
  messageText,
  NothingToJudge,
  subjectText,
} from './check.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters) => CheckRunner;

/** Passes if the count is between `min…` and `max…`. */
function countCheck(
  what: string,
  max: number,
  count: (text: string) => number | Slices<number>,
): CheckFactory {
  return (parameters) => {
    const least = numberOr(parameters[`min${what}`], 0);
    const most = numberOr(parameters[`max${what}`], max);
    return async (subject) => {
      const text = messageText(subject);
      const counted = count(text);
      const isCounted = typeof counted === 'number';
      const total = isCounted ? counted : await run(counted, text.length >= longLengthMin);
      const explanation = `${total} ${what.toLowerCase()}, allowed are ${least} to ${most}`;
      return makeOutcome(total >= least && total <= most, parameters.not, explanation);
    };
  };
}

function caseCheck(what: string, isIn: (text: string) => boolean): CheckFactory {
  return ({ not }) =>
    (subject) =>
      makeOutcome(isIn(requireText(subject)), not, `checks whether all letters are ${what}`);
}

const endsWith: CheckFactory = ({ suffix, not }) => {
  const end = String(suffix);
  return (subject) => {
    const text = requireText(subject);
    return makeOutcome(
      text.endsWith(end) || text.endsWith(`${end}.`),
      not,
      'checks whether the text ends with the suffix',
    );
  };
};

/** A response that only calls tools has no text but is not empty. */
const notNull: CheckFactory =
  ({ not }) =>
  (subject) => {
    const hasContent = messageText(subject).trim() !== '' || callsTools(subject.answer?.json);
    return makeOutcome(hasContent, not, hasContent ? 'there is content' : 'there is no content');
  };

function callsTools(json: unknown): boolean {
  const { choices, content, output } = (json ?? {}) as Parameters;
  const calls = (item: unknown): boolean => {
    const { message, type } = (item ?? {}) as { message?: Parameters; type?: unknown };
    const { tool_calls: toolCalls } = message ?? {};
    const isList = Array.isArray(toolCalls) && toolCalls.length > 0;
    return isList || type === 'tool_use' || type === 'function_call';
  };
  return [choices, content, output].some((list) => Array.isArray(list) && list.some(calls));
}

/** Language names used after three backticks, by the language names of the check. */
const fenceNames: Readonly<Record<string, readonly string[]>> = {
  'c#': ['csharp', 'cs'],
  'c++': ['cpp'],
  javascript: ['js'],
  typescript: ['ts'],
  python: ['py'],
  ruby: ['rb'],
  shell: ['sh', 'bash', 'zsh'],
  bash: ['sh', 'shell'],
  yaml: ['yml'],
  markdown: ['md'],
  go: ['golang'],
  rust: ['rs'],
  kotlin: ['kt'],
};

const containsCode: CheckFactory = ({ format, not }) => {
  const name = String(format).toLowerCase();
  const names = new Set([name, ...(fenceNames[name] ?? [])]);
  return async (subject) => {
    const text = not === true ? subjectText(subject) : messageText(subject);
    const fences = matchesOf(text, /```[ \t]*([\w+#.-]{1,30})[^\n`]*\n/g);
    const languages = await run(fences, text.length >= longLengthMin);
    const holds = languages.some((language) => names.has(language.toLowerCase()));
    return makeOutcome(holds, not, `${holds ? 'a' : 'no'} block of ${String(format)}`);
  };
};

function requireText(subject: CheckSubject): string {
  const text = messageText(subject);
  if (text === '') throw new NothingToJudge('there is no text to check');
  return text;
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

/** Matches between two interruptions. */
const interruptedMatches = 1_000;

/** `pattern` is global. */
function* matchesOf(text: string, pattern: RegExp): Slices<string[]> {
  const found: string[] = [];
  yield* eachMatch(text, pattern, ([, group = '']) => found.push(group));
  return found;
}

function* occurrences(text: string, pattern: RegExp): Slices<number> {
  let count = 0;
  yield* eachMatch(text, pattern, () => {
    count += 1;
  });
  return count;
}

function* eachMatch(
  text: string,
  pattern: RegExp,
  onMatch: (match: RegExpExecArray) => void,
): Slices<void> {
  let count = 0;
  for (const match of text.matchAll(pattern)) {
    onMatch(match);
    count += 1;
    if (count % interruptedMatches === 0) yield;
  }
}

const [defaultMax, charactersMax] = [99_999, 9_999_999];

export const countingChecks: Readonly<Record<string, CheckFactory>> = {
  'default.sentencecount': countCheck('Sentences', defaultMax, (text) =>
    occurrences(text, /[.!?]/g),
  ),
  'default.wordcount': countCheck('Words', defaultMax, (text) => occurrences(text, /\S+/g)),
  'default.charactercount': countCheck('Characters', charactersMax, (text) => text.length),
  'default.alluppercase': caseCheck('upper case', (text) => !/[a-z]/.test(text)),
  'default.alllowercase': caseCheck('lower case', (text) => !/[A-Z]/.test(text)),
  'default.isalllowercase': caseCheck('lower case', (text) => !/[A-Z]/.test(text)),
  'default.endswith': endsWith,
  'default.notnull': notNull,
  'default.containscode': containsCode,
};
