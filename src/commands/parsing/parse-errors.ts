/** Rewrites the error messages of yargs as one sentence that names the mistake and the fix. */
import { Failure } from '../../failure.ts';
import { didYouMean } from '../../suggest.ts';
import { isWord, type Option, quoted } from '../shared/option.ts';

type OptionsByName = Readonly<Record<string, Option<unknown>>>;

/** State of the parser for error messages. */
export interface LineContext {
  readonly commands: readonly string[];
  /** The command that is being parsed; null before one is recognised. */
  current: { readonly name: string; readonly options: OptionsByName } | null;
  /** Words that yargs has seen, the name of the command among them. */
  wordCount: number;
}

/**
 * yargs reports errors as English text without a code, so the text is matched. A message that no
 * pattern matches is passed on, as are those of our own option types.
 */
export function explainParseError(
  message: string,
  context: LineContext,
  words: readonly string[],
): Failure {
  const { current, commands } = context;
  const [, unknownWord] = /^Unknown commands?: (.*)$/s.exec(message) ?? [];
  if (current === null) {
    if (unknownWord !== undefined) return unknownCommand(firstWord(words) ?? unknownWord, commands);
    const sentence = unknownOption(message, {}, words, ['--help', '--version']) ?? message;
    return new Failure(
      'invalidInput',
      `${sentence}; a command comes before its options (commands: ${commands.join(', ')})`,
    );
  }
  const { name, options } = current;
  const sentence =
    (unknownWord === undefined ? undefined : `${quoted(unknownWord)} is one word too many`) ??
    unknownOption(message, options, words) ??
    missingValue(message, options) ??
    unexpectedValue(message) ??
    missingWord(message, options) ??
    conflict(message) ??
    message;
  return new Failure('invalidInput', `${name}: ${sentence} (see gatewright help ${name})`);
}

export function unknownCommand(verb: string, commands: readonly string[]): Failure {
  const suggestion = didYouMean(verb, commands);
  const hint = suggestion === undefined ? '' : `: ${suggestion}`;
  return new Failure(
    'invalidInput',
    `unknown command ${quoted(verb)}${hint} (commands: ${commands.join(', ')})`,
  );
}

function firstWord(words: readonly string[]): string | undefined {
  return words.find((word) => !word.startsWith('-'));
}

/** Suggests no option that is already on the line. */
function unknownOption(
  message: string,
  options: OptionsByName,
  words: readonly string[],
  others: readonly string[] = ['--help'],
): string | undefined {
  const [, name] = /^Unknown arguments?: ([^,]*)/s.exec(message) ?? [];
  if (name === undefined) return undefined;
  const spelling = `${name.length === 1 ? '-' : '--'}${name}`;
  const candidates = Object.entries(options)
    .filter(([, option]) => !isWord(option))
    .map(([option]) => `--${option}`)
    .filter((option) => !words.some((word) => word === option || word.startsWith(`${option}=`)));
  const suggestion = habitHint(name, options) ?? didYouMean(spelling, [...candidates, ...others]);
  const hint = suggestion === undefined ? '' : `: ${suggestion}`;
  return `unknown option ${quoted(spelling)}${hint}`;
}

/** The counterpart of an option that people know from kubectl, Terraform and others. */
function habitHint(name: string, options: OptionsByName): string | undefined {
  const takesPaths = options.paths?.form === 'words';
  if (takesPaths && ['f', 'file', 'filename', 'k', 'R', 'recursive'].includes(name)) {
    return 'files and folders are plain words, and folders include those below them';
  }
  if (takesPaths && name === 'dry-run') return '`gatewright plan` shows changes and makes none';
  if (['n', 'namespace', 'A'].includes(name) && options.workspace !== undefined) {
    return 'a workspace is selected with --workspace';
  }
  return undefined;
}

function missingValue(message: string, options: OptionsByName): string | undefined {
  const [, key] = /^Not enough arguments following: (.*)$/s.exec(message) ?? [];
  if (key === undefined) return undefined;
  const [name, option] = Object.entries(options).find(
    ([option, { letter }]) => option === key || letter === key,
  ) ?? [key];
  const form = `--${name} ${option?.placeholder ?? 'VALUE'}`;
  return `--${name} needs a value: ${form}; write --${name}=VALUE if it begins with a dash`;
}

function unexpectedValue(message: string): string | undefined {
  const [, key] = /^Argument unexpected for: (.*)$/s.exec(message) ?? [];
  if (key === undefined) return undefined;
  return `${key.length === 1 ? '-' : '--'}${key} takes no value`;
}

function missingWord(message: string, options: OptionsByName): string | undefined {
  const [, got] = /^Not enough non-option arguments: got (\d+)/.exec(message) ?? [];
  if (got === undefined) return undefined;
  const [name, option] = Object.entries(options).filter(([, option]) => isWord(option))[
    Number(got)
  ] ?? ['word'];
  const meaning = option?.describe ?? '';
  return `<${name}> is missing: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`;
}

function conflict(message: string): string | undefined {
  const [, one, other] = /^Arguments (\S+) and (\S+) are mutually exclusive$/.exec(message) ?? [];
  return one === undefined
    ? undefined
    : `--${one} and --${other} exclude each other; leave one out`;
}
