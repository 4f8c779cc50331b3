/** Knows what an option of a command line is, and the forms that its value can have. */
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { didYouMean } from '../../suggest.ts';
import { oneLine } from '../../terminal-text.ts';

export interface Option<Value> {
  /** A `switch` is there or not, a `value` follows its name, `word` and `words` stand alone. */
  readonly form: 'switch' | 'value' | 'word' | 'words';
  /** Of one letter: `o` for `-o`. */
  readonly letter?: string;
  /** What help shows for the value: `FILE`. */
  readonly placeholder: string;
  /** What it does, with the unit of its value. */
  readonly describe: string;
  /** What holds when it is left out: `text`; absent when that is said by `describe`. */
  readonly fallback?: string;
  /** Whether it may be given several times. */
  readonly isRepeatable?: boolean;
  /** Whether the command cannot do without. */
  readonly isRequired?: boolean;
  /** The words that it takes and no others. */
  readonly words?: readonly string[];
  /** Whether it takes several of them with commas between. */
  readonly isList?: boolean;
  /**
   * The value, from what was given: nothing, or a word or more, never empty ones. Throws
   * {@link Failure} with the sentence that `name` (`--port`) is the subject of.
   */
  readonly read: (given: readonly string[], name: string) => Value;
}

/** The options of a command by their names, words that stand alone in their order. */
export type OptionTable<Values> = { readonly [Name in keyof Values]: Option<Values[Name]> };

interface Facts {
  readonly describe: string;
  readonly fallback?: string;
}

/** `--once` */
export function flag(describe: string, letter?: string): Option<boolean> {
  const read = (given: readonly string[]): boolean => given.length > 0;
  return { form: 'switch', placeholder: '', describe, read, ...(letter ? { letter } : {}) };
}

/** `--home DIR`; where `isWell` is given, only what passes it, which `expected` names. */
export function text(
  placeholder: string,
  facts: Facts & { readonly isWell?: (given: string) => boolean; readonly expected?: string },
): Option<string | undefined> {
  const { isWell = () => true, expected, ...rest } = facts;
  const read = ([given]: readonly string[], name: string): string | undefined => {
    if (given === undefined || isWell(given)) return given;
    throw refused(`${name} takes ${expected}, not ${quoted(given)}`);
  };
  return { form: 'value', placeholder, ...rest, read };
}

/** `--port PORT`: digits alone, so that neither `1e3` nor `0x50` is taken for what it may not mean. */
export function wholeNumber(
  placeholder: string,
  range: { readonly min: number; readonly max: number; readonly example: number },
  facts: Facts,
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

const secondsIn = { s: 1, m: 60, h: 3600 } as const;

/** `--interval 90s`: a whole number of seconds, minutes or hours, as seconds. */
export function duration(
  range: { readonly min: number; readonly max: number; readonly example: string },
  facts: Facts,
): Option<number | undefined> {
  const { min, max, example } = range;
  const read = ([given]: readonly string[], name: string): number | undefined => {
    if (given === undefined) return undefined;
    const [, count, unit] = /^(\d{1,9})([smh])$/.exec(given) ?? [];
    const seconds = Number(count) * secondsIn[unit as keyof typeof secondsIn];
    if (seconds >= min && seconds <= max) return seconds;
    throw refused(
      `${name} takes a time such as 30s, 5m or 1h, from ${min} s to ${max} s, not ${quoted(given)}; ` +
        `for example ${name} ${example}`,
    );
  };
  return { form: 'value', placeholder: 'TIME', ...facts, read };
}

/** `--drift heal|report|off`: one of several words, undefined when left out. */
export function optionalChoice<const Word extends string>(
  words: readonly [Word, ...Word[]],
  facts: Facts,
): Option<Word | undefined> {
  const read = ([given]: readonly string[], name: string): Word | undefined =>
    given === undefined ? undefined : oneOf(words, given, name);
  return { form: 'value', placeholder: words.join('|'), words, ...facts, read };
}

/** `--output text|json`: one of several words, the first when left out. */
export function choice<const Word extends string>(
  words: readonly [Word, ...Word[]],
  facts: { readonly describe: string; readonly letter?: string },
): Option<Word> {
  const read = ([given]: readonly string[], name: string): Word =>
    given === undefined ? words[0] : oneOf(words, given, name);
  return { form: 'value', placeholder: words.join('|'), fallback: words[0], words, ...facts, read };
}

/** `--fail-on delete,replace`: some of several words; none when left out. */
export function choices<const Word extends string>(
  words: readonly Word[],
  placeholder: string,
  facts: Facts,
): Option<readonly Word[]> {
  const read = ([given]: readonly string[], name: string): readonly Word[] =>
    given === undefined ? [] : given.split(',').map((word) => oneOf(words, word.trim(), name));
  return { form: 'value', placeholder, words, isList: true, ...facts, read };
}

/** `-o, --output`, by which every command that tells something is asked for the form of it. */
export function outputForm<const Form extends string>(
  forms: readonly [Form, ...Form[]],
  describe = 'Form of what is printed',
): Option<Form> {
  return choice(forms, { letter: 'o', describe });
}

/** `--workspace NAME`, any number of times. */
function names(placeholder: string, facts: Facts): Option<readonly string[]> {
  const read = (given: readonly string[], name: string): readonly string[] => {
    const wrong = given.find((word) => !managedNamePattern.test(word));
    if (wrong === undefined) return [...new Set(given)];
    throw refused(`${name} takes ${managedNameForm}, not ${quoted(wrong)}`);
  };
  return { form: 'value', placeholder, ...facts, isRepeatable: true, read };
}

export const workspaceOption = names('NAME', {
  describe: 'Only this workspace, by its name in manifests; may be given several times',
  fallback: 'all, and what is the organisation’s',
});

/** `--env NAME`, of every command that reads manifests. */
export const environmentOption: Option<string | undefined> = {
  form: 'value',
  placeholder: 'NAME',
  describe: 'Environment of the source: values and patches of environments/NAME/',
  fallback: 'GATEWRIGHT_ENVIRONMENT; a source without environments needs none',
  read: ([given], option) => {
    if (given === undefined || managedNamePattern.test(given)) return given;
    throw refused(`${option} takes ${managedNameForm}, not ${quoted(given)}`);
  },
};

/** `<path>`, a word that the command needs. */
export function requiredWord(describe: string): Option<string> {
  return { form: 'word', placeholder: '', describe, isRequired: true, read: ([given]) => given! };
}

/** `<action>`, one of several words. */
export function requiredChoice<const Word extends string>(
  words: readonly Word[],
  describe: string,
): Option<Word> {
  const read = ([given]: readonly string[], name: string): Word => oneOf(words, given!, name);
  return { form: 'word', placeholder: '', describe, isRequired: true, words, read };
}

/** `[kind]`, one of several words, or none. */
export function optionalWordOf<const Word extends string>(
  words: readonly Word[],
  describe: string,
): Option<Word | undefined> {
  const read = ([given]: readonly string[], name: string): Word | undefined =>
    given === undefined ? undefined : oneOf(words, given, name);
  return { form: 'word', placeholder: '', describe, words, read };
}

/** `[name]`, a word that may be left out. */
export function optionalWord(describe: string): Option<string | undefined> {
  return { form: 'word', placeholder: '', describe, read: ([given]) => given };
}

/** `[paths..]`, any number of words. */
export function words(describe: string): Option<readonly string[]> {
  return { form: 'words', placeholder: '', describe, read: (given) => given };
}

const portMax = 65_535;

/** `--port PORT` and its like. */
export function port(example: number, facts: Facts): Option<number | undefined> {
  return wholeNumber('PORT', { min: 0, max: portMax, example }, facts);
}

export function refused(message: string): Failure {
  return new Failure('invalidInput', message);
}

/** A word as it was typed, for messages. */
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

/** `--home`, of the commands that find a running database or credentials in it. */
export const homeOption = text('DIR', {
  describe: 'Folder of `gatewright up`',
  fallback: 'GATEWRIGHT_HOME, else .gatewright',
});
