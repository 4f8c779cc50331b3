/** Defines the options and words of command lines, and the kinds of values they take. */
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { didYouMean } from '../../suggest.ts';
import { oneLine } from '../../terminal-text.ts';

export interface Option<Value> {
  /** `switch`: present or absent. `value`: follows its name. `word`, `words`: positional. */
  readonly form: 'switch' | 'value' | 'word' | 'words';
  /** Short form: `o` for `-o`. */
  readonly letter?: string;
  /** Stands for the value in error messages: `FILE`. */
  readonly placeholder: string;
  /** Effect, with the unit of the value. */
  readonly describe: string;
  /** Default as help shows it; absent when `describe` states it. */
  readonly fallback?: string;
  readonly isRepeatable?: boolean;
  /** Only for words: an option is never required. */
  readonly isRequired?: boolean;
  /** All accepted values. */
  readonly choices?: readonly string[];
  /** Values to offer for completion where others are accepted as well. */
  readonly suggestions?: readonly string[];
  /**
   * Converts the given strings, none of which is empty; an empty array yields the default. `name`
   * is the subject of error messages: `--port`.
   *
   * @throws Failure (invalid input)
   */
  readonly read: (given: readonly string[], name: string) => Value;
}

/** Whether it is positional. */
export function isWord({ form }: Option<unknown>): boolean {
  return form === 'word' || form === 'words';
}

/** The options of a command by name; words in the order in which they are given. */
export type OptionTable<Values> = { readonly [Name in keyof Values]: Option<Values[Name]> };

interface Description {
  readonly describe: string;
  readonly fallback?: string;
}

/** `--once` */
export function switchOption(describe: string, letter?: string): Option<boolean> {
  const read = (given: readonly string[]): boolean => given.length > 0;
  return { form: 'switch', placeholder: '', describe, read, ...(letter ? { letter } : {}) };
}

/** `--home DIR`. `expected` describes the values that `isValid` accepts. */
export function textOption(
  placeholder: string,
  facts: Description & {
    readonly isValid?: (given: string) => boolean;
    readonly expected?: string;
  },
): Option<string | undefined> {
  const { isValid = () => true, expected, ...rest } = facts;
  const read = ([given]: readonly string[], name: string): string | undefined => {
    if (given === undefined || isValid(given)) return given;
    throw refused(`${name} takes ${expected}, not ${quoted(given)}`);
  };
  return { form: 'value', placeholder, ...rest, read };
}

/** `--port PORT`: decimal digits only; rejects `1e3` and `0x50`. */
export function wholeNumberOption(
  placeholder: string,
  range: { readonly min: number; readonly max: number; readonly example: number },
  facts: Description,
): Option<number | undefined> {
  const { min, max, example } = range;
  const read = ([given]: readonly string[], name: string): number | undefined => {
    if (given === undefined) return undefined;
    const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw refused(
      `${name} takes a whole number from ${min} to ${max}, not ${quoted(given)}; for example ${name} ${example}`,
    );
  };
  return { form: 'value', placeholder, ...facts, read };
}

const secondsIn = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** `--interval 90s`: a whole number of seconds, minutes, hours or days; the value is in seconds. */
export function durationOption(
  range: { readonly min: number; readonly max: number; readonly example: string },
  facts: Description,
): Option<number | undefined> {
  const { min, max, example } = range;
  const read = ([given]: readonly string[], name: string): number | undefined => {
    if (given === undefined) return undefined;
    const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(given) ?? [];
    const seconds = Number(count) * secondsIn[unit as keyof typeof secondsIn];
    if (seconds >= min && seconds <= max) return seconds;
    throw refused(
      `${name} takes a time such as 30s, 5m or 1h, from ${min} s to ${max} s, not ${quoted(given)}; ` +
        `for example ${name} ${example}`,
    );
  };
  return { form: 'value', placeholder: 'TIME', ...facts, read };
}

/** `--drift heal|report|off`: one of several choices, undefined by default. */
export function optionalChoiceOption<const Word extends string>(
  words: readonly [Word, ...Word[]],
  facts: Description,
): Option<Word | undefined> {
  const read = ([given]: readonly string[], name: string): Word | undefined =>
    given === undefined ? undefined : oneOf(words, given, name);
  return { form: 'value', placeholder: words.join('|'), choices: words, ...facts, read };
}

/** `--output text|json`: one of several choices, the first by default. */
export function choiceOption<const Word extends string>(
  words: readonly [Word, ...Word[]],
  facts: { readonly describe: string; readonly letter?: string },
): Option<Word> {
  const read = ([given]: readonly string[], name: string): Word =>
    given === undefined ? words[0] : oneOf(words, given, name);
  return {
    form: 'value',
    placeholder: words.join('|'),
    fallback: words[0],
    choices: words,
    ...facts,
    read,
  };
}

/** `--fail-on delete,replace`: a comma-separated list of choices, empty by default. */
export function choicesOption<const Word extends string>(
  words: readonly Word[],
  placeholder: string,
  facts: Description,
): Option<readonly Word[]> {
  const read = ([given]: readonly string[], name: string): readonly Word[] =>
    given === undefined ? [] : given.split(',').map((word) => oneOf(words, word.trim(), name));
  return { form: 'value', placeholder, choices: words, ...facts, read };
}

/** `-o, --output`: the output format. */
export function outputForm<const Form extends string>(
  forms: readonly [Form, ...Form[]],
  describe = 'Output format',
): Option<Form> {
  return choiceOption(forms, { letter: 'o', describe });
}

/** `--workspace NAME`, repeatable. */
function names(placeholder: string, facts: Description): Option<readonly string[]> {
  const read = (given: readonly string[], name: string): readonly string[] => {
    const wrong = given.find((word) => !managedNamePattern.test(word));
    if (wrong === undefined) return [...new Set(given)];
    throw refused(`${name} takes ${managedNameForm}, not ${quoted(wrong)}`);
  };
  return { form: 'value', placeholder, ...facts, isRepeatable: true, read };
}

export const workspaceOption = names('NAME', {
  describe: 'Restrict to this workspace, by its name in manifests; repeatable',
  fallback: 'all workspaces and the organisation',
});

/** `--env NAME`, shared by all commands that read manifests. */
export const environmentOption: Option<string | undefined> = {
  form: 'value',
  placeholder: 'NAME',
  describe: 'Environment of the source: applies values and patches of environments/NAME/',
  fallback: 'GATEWRIGHT_ENVIRONMENT; not needed for a source without environments',
  read: ([given], option) => {
    if (given === undefined || managedNamePattern.test(given)) return given;
    throw refused(`${option} takes ${managedNameForm}, not ${quoted(given)}`);
  },
};

/** `<path>`, required. */
export function requiredWord(describe: string): Option<string> {
  return { form: 'word', placeholder: '', describe, isRequired: true, read: ([given]) => given! };
}

/** `<action>`, required, one of several choices. */
export function requiredChoice<const Word extends string>(
  words: readonly Word[],
  describe: string,
): Option<Word> {
  const read = ([given]: readonly string[], name: string): Word => oneOf(words, given!, name);
  return { form: 'word', placeholder: '', describe, isRequired: true, choices: words, read };
}

/** `[kind]`, one of several choices. */
export function optionalWordOf<const Word extends string>(
  words: readonly Word[],
  describe: string,
): Option<Word | undefined> {
  const read = ([given]: readonly string[], name: string): Word | undefined =>
    given === undefined ? undefined : oneOf(words, given, name);
  return { form: 'word', placeholder: '', describe, choices: words, read };
}

/** `[name]` */
export function optionalWord(describe: string): Option<string | undefined> {
  return { form: 'word', placeholder: '', describe, read: ([given]) => given };
}

/** `[paths..]`, any number of words. `fallback` describes what an empty list means. */
export function positionalWords(describe: string, fallback: string): Option<readonly string[]> {
  return { form: 'words', placeholder: '', describe, fallback, read: (given) => given };
}

const portMax = 65_535;

/** A TCP port; 0 lets the system choose one. */
export function portOption(example: number, facts: Description): Option<number | undefined> {
  return wholeNumberOption('PORT', { min: 0, max: portMax, example }, facts);
}

export function refused(message: string): Failure {
  return new Failure('invalidInput', message);
}

/** A word as typed, safe for terminals. */
export function quoted(word: string): string {
  return `"${oneLine(word)}"`;
}

function oneOf<Word extends string>(words: readonly Word[], given: string, name: string): Word {
  const found = words.find((word) => word === given);
  if (found !== undefined) return found;
  const suggestion = didYouMean(given, words);
  const hint = suggestion === undefined ? '' : `; ${suggestion}`;
  throw refused(`${name} takes ${words.join(', ')}, not ${quoted(given)}${hint}`);
}

/** `--home`, for commands that find a running database or credentials there. */
export const homeOption = textOption('DIR', {
  describe: 'Data folder of `gatewright up`',
  fallback: 'GATEWRIGHT_HOME, else .gatewright',
});
