/** Knows the checks that count or compare letters: how long a text is, how it ends, in which case it stands. */
import { CheckError, type Judge, type Subject, saying, textOf } from './check.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Maker = (parameters: Parameters) => Judge;

/** Passes where the count lies between `min…` and `max…`. */
function counting(what: string, max: number, count: (text: string) => number): Maker {
  return (parameters) => {
    const least = numberOr(parameters[`min${what}`], 0);
    const most = numberOr(parameters[`max${what}`], max);
    return (subject) => {
      const found = count(textOf(subject));
      const explanation = `${found} ${what.toLowerCase()}, where ${least} to ${most} are allowed`;
      return saying(found >= least && found <= most, parameters.not, explanation);
    };
  };
}

function cased(what: string, isIn: (text: string) => boolean): Maker {
  return ({ not }) =>
    (subject) =>
      saying(isIn(judged(subject)), not, `whether all letters are ${what}`);
}

const endsWith: Maker = ({ suffix, not }) => {
  const end = String(suffix);
  return (subject) => {
    const text = judged(subject);
    return saying(text.endsWith(end) || text.endsWith(`${end}.`), not, 'whether it ends as wanted');
  };
};

/** An answer that only calls tools has no text, and is one all the same. */
const notNull: Maker =
  ({ not }) =>
  (subject) => {
    const isAnswer = textOf(subject).trim() !== '' || callsTools(subject.answer?.json);
    return saying(isAnswer, not, isAnswer ? 'there is content' : 'there is no content');
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

/** Names that people write behind three backticks, by those that the check knows. */
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

const containsCode: Maker = ({ format, not }) => {
  const name = String(format).toLowerCase();
  const wanted = new Set([name, ...(fenceNames[name] ?? [])]);
  return (subject) => {
    const fences = textOf(subject).matchAll(/```[ \t]*([\w+#.-]{1,30})[^\n`]*\n/g);
    const holds = [...fences].some(([, language = '']) => wanted.has(language.toLowerCase()));
    return saying(holds, not, `${holds ? 'a' : 'no'} block of ${String(format)}`);
  };
};

function judged(subject: Subject): string {
  const text = textOf(subject);
  if (text === '') throw new CheckError('there is no text to judge');
  return text;
}

function numberOr(value: unknown, usual: number): number {
  return typeof value === 'number' ? value : usual;
}

function occurrences(text: string, pattern: RegExp): number {
  let count = 0;
  for (const _ of text.matchAll(pattern)) count += 1;
  return count;
}

const [mostUsual, mostCharacters] = [99_999, 9_999_999];

export const countingChecks: Readonly<Record<string, Maker>> = {
  'default.sentencecount': counting('Sentences', mostUsual, (text) => occurrences(text, /[.!?]/g)),
  'default.wordcount': counting('Words', mostUsual, (text) => occurrences(text, /\S+/g)),
  'default.charactercount': counting('Characters', mostCharacters, (text) => text.length),
  'default.alluppercase': cased('upper case', (text) => !/[a-z]/.test(text)),
  'default.alllowercase': cased('lower case', (text) => !/[A-Z]/.test(text)),
  'default.isalllowercase': cased('lower case', (text) => !/[A-Z]/.test(text)),
  'default.endswith': endsWith,
  'default.notnull': notNull,
  'default.containscode': containsCode,
};
