/** Parses command lines with yargs, which also writes the help and completes unfinished lines. */
import yargs, { type Argv, type Options } from 'yargs';
import type { Ending } from '../../failure.ts';
import type { CommandEntry, CommandIo, LoadedCommand } from '../shared/command.ts';
import { isWord, type Option, refused } from '../shared/option.ts';
import { overviewText } from './overview.ts';
import { explainParseError, type LineContext, unknownCommand } from './parse-errors.ts';

/** Result of parsing: a command to run, or text to print, such as help. */
export type ParsedLine =
  | { readonly kind: 'command'; readonly run: (io: CommandIo) => Promise<Ending> }
  | { readonly kind: 'text'; readonly text: string };

const columns = 100;

/** First word of a line whose last word is to be completed; yargs then prints the candidates. */
export const completionRequest = '--get-yargs-completions';

/**
 * Parses `words`, the arguments without node and script. Loads only the commands that they mention.
 *
 * @throws Failure (invalid input) with one sentence that names the mistake and the fix
 */
export async function parseCommandLine(
  words: readonly string[],
  commands: ReadonlyMap<string, CommandEntry>,
): Promise<ParsedLine> {
  if (isOverviewRequest(words)) return { kind: 'text', text: overviewText(commands) };
  const args = escapeDashes(helpWordsToOption(words, commands));
  const loaded = await loadMentioned(args, commands);
  const context: LineContext = { commands: [...commands.keys()], current: null, wordCount: 0 };
  const parser = createParser(args, context);
  // Without a command in the line, yargs needs all of them for help and completion.
  if (loaded.size === 0) {
    for (const { usage, summary } of commands.values()) parser.command(usage, summary);
  }
  for (const [name, command] of loaded) {
    const { usage, summary } = commands.get(name)!;
    const declare = (inner: Argv): Argv => {
      context.current = { name, options: command.options };
      return declareOptions(inner, command, args[0] === completionRequest);
    };
    parser.command(usage, summary, declare, (argv) => {
      throw new CommandParsed(command, argv);
    });
  }
  return await run(parser, args);
}

/**
 * Ends the parsing as soon as the options are known. If a handler returns, yargs renders the help of
 * its command, which takes longer than all the rest of the parsing.
 */
class CommandParsed extends Error {
  readonly command: LoadedCommand;
  readonly argv: Readonly<Record<string, unknown>>;

  constructor(command: LoadedCommand, argv: Readonly<Record<string, unknown>>) {
    super('the command line is parsed');
    this.command = command;
    this.argv = argv;
  }
}

async function run(parser: Argv, args: string[]): Promise<ParsedLine> {
  let output = '';
  try {
    await parser.parseAsync(args, {}, (_error: unknown, _argv: unknown, text: string) => {
      output = text;
    });
  } catch (error) {
    if (!(error instanceof CommandParsed)) throw error;
    const { command, argv } = error;
    const values = readValues(argv, command.options);
    return { kind: 'command', run: async (io) => await command.run(values, io) };
  }
  return { kind: 'text', text: `${output}\n` };
}

const helpWords: readonly (string | undefined)[] = ['help', '--help', '-h'];

function isOverviewRequest([verb, ...others]: readonly string[]): boolean {
  return verb === undefined || (helpWords.includes(verb) && others.length === 0);
}

/** `help plan` and `--help plan` as `plan --help`, which yargs understands. */
function helpWordsToOption(
  words: readonly string[],
  commands: ReadonlyMap<string, CommandEntry>,
): readonly string[] {
  const [verb, name] = words;
  if (!helpWords.includes(verb) || name === undefined) return words;
  if (!commands.has(name)) throw unknownCommand(name, [...commands.keys()]);
  return [name, '--help'];
}

/** No argument of a process contains a NUL character. */
const dashEscape = '\0';

/**
 * yargs parses positional words a second time and then drops a lone `-`, and it leaves words after
 * `--` out of the positionals. A prefix, which {@link wordsOf} removes, turns both into plain words.
 */
function escapeDashes(words: readonly string[]): string[] {
  const separator = words.indexOf('--');
  const end = separator === -1 ? words.length : separator;
  const escapeWord = (word: string): string => `${dashEscape}${word}`;
  return [
    ...words.slice(0, end).map((word) => (word === '-' ? escapeWord(word) : word)),
    ...words.slice(end + 1).map(escapeWord),
  ];
}

function wordsOf(value: unknown): string[] {
  return [value].flat().map((word) => String(word).replace(dashEscape, ''));
}

async function loadMentioned(
  words: readonly string[],
  commands: ReadonlyMap<string, CommandEntry>,
): Promise<ReadonlyMap<string, LoadedCommand>> {
  const mentioned = [...commands].filter(([name]) => words.includes(name));
  return new Map(
    await Promise.all(mentioned.map(async ([name, { load }]) => [name, await load()] as const)),
  );
}

function createParser(words: readonly string[], context: LineContext): Argv {
  const parser = yargs([...words])
    .scriptName('gatewright')
    .locale('en')
    .exitProcess(false)
    .wrap(columns)
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'strip-aliased': true,
    })
    .strict()
    .strictCommands()
    .help('help', 'Show this help')
    .alias('help', 'h')
    .version(false)
    .fail((message, error) => {
      context.wordCount = (parser.parsed || undefined)?.argv._.length ?? 0;
      throw explainParseError(message ?? error.message, context, words);
    })
    .usage('gatewright <command>: control plane and GitOps operator for an AI gateway');
  return parser;
}

/** The values of an unfinished line are not read, because they may still be invalid. */
function declareOptions(
  parser: Argv,
  { options, conflicts, examples }: LoadedCommand,
  isUnfinished: boolean,
): Argv {
  for (const [name, option] of Object.entries(options)) {
    const facts = isUnfinished
      ? describeOption(option)
      : { ...describeOption(option), ...readWith(name, option) };
    if (isWord(option)) parser.positional(name, { ...facts, type: 'string' });
    else parser.option(name, { ...facts, ...valueForm(option) });
  }
  for (const [one, other] of conflicts) parser.conflicts(one, other);
  // As an epilogue, because yargs would wrap long lines of `.example()`, which are to be copied.
  const lines = examples.map(([line, effect]) => `  ${line}\n      ${effect}`);
  return parser.epilogue(['Examples:', ...lines].join('\n'));
}

/** A switch takes exactly no argument, so that `--yes=maybe` is an error and not `false`. */
function valueForm({ form, letter }: Option<unknown>): Options {
  const alias = letter === undefined ? {} : { alias: letter };
  if (form === 'switch') return { ...alias, type: 'boolean', nargs: 0 };
  return { ...alias, type: 'string', requiresArg: true };
}

type OptionDescription = Pick<Options, 'describe' | 'defaultDescription'> & {
  readonly choices?: readonly string[];
};

function describeOption({ describe, fallback, choices }: Option<unknown>): OptionDescription {
  return {
    describe,
    ...(fallback === undefined ? {} : { defaultDescription: fallback }),
    ...(choices === undefined ? {} : { choices }),
  };
}

function readWith(name: string, option: Option<unknown>): Pick<Options, 'coerce'> {
  if (option.form === 'switch') return {};
  return { coerce: (value: unknown) => readGiven(name, option, value) };
}

function readGiven(name: string, option: Option<unknown>, value: unknown): unknown {
  const words = wordsOf(value);
  if (isWord(option)) {
    if (words.length === 0) return [];
    if (words.includes('')) {
      throw refused('a word is empty; is a shell variable unset?');
    }
    return option.read(words, `<${name}>`);
  }
  if (words.includes('')) {
    throw refused(`--${name} needs a value: --${name} ${option.placeholder}`);
  }
  if (words.length > 1 && option.isRepeatable !== true) {
    throw refused(`--${name} is given twice; once is enough`);
  }
  return option.read(words, `--${name}`);
}

/** yargs gives an empty array for `[paths..]` without words. */
function isMissing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** The values of all options; those that were not given get their defaults. */
function readValues(
  argv: Readonly<Record<string, unknown>>,
  options: LoadedCommand['options'],
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      name,
      isMissing(argv[name]) ? option.read([], name) : argv[name],
    ]),
  );
}
