/** Knows how a command line becomes a command's options, and how its end is told to the user. */
import type { Readable } from 'node:stream';
import { inspect } from 'node:util';
import yargs from 'yargs';
import { type Ending, Failure } from '../failure.ts';
import { environmentIn } from '../settings/environment.ts';
import { didYouMean } from '../suggest.ts';
import { type BoundCommand, commandLoaders } from './all-commands.ts';
import type { CommandIo } from './shared/command.ts';
import { TextOutput, type TextStream } from './shared/text-output.ts';

const columnsMax = 100;
const missingPositional = /^Not enough non-option arguments.*/;

/** What the process has to do with a command. */
export interface Outside {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly cwd: string;
}

/**
 * Runs the command that `words` (without node and script) name. Prints a `Failure` as its message
 * alone. Resolves with the exit code, or with `interrupted` when a signal ended the command early.
 */
export async function runCommandLine(
  words: readonly string[],
  outside: Outside,
): Promise<Ending | 'interrupted'> {
  const io = openIo(outside);
  try {
    return await dispatch(words, io);
  } catch (error) {
    if (io.signal.aborted && isAbort(error, io.signal)) return 'interrupted';
    if (error instanceof Failure) {
      io.stderr.write(`gatewright: ${error.message}\n`);
      return error.kind;
    }
    io.stderr.write(await describeUnexpected(error));
    return 'unexpected';
  }
}

/** Commands say nothing but through this. Colour: no-color.org. */
function openIo(outside: Outside): CommandIo {
  const { signal, cwd } = outside;
  const mayColor = (): boolean => (environmentIn(cwd)('NO_COLOR') ?? '') === '';
  return {
    get stdin() {
      return outside.stdin;
    },
    stdout: new TextOutput(() => outside.stdout, mayColor),
    stderr: new TextOutput(() => outside.stderr, mayColor),
    signal,
    cwd,
  };
}

async function dispatch(words: readonly string[], io: CommandIo): Promise<Ending> {
  const [verb, ...rest] = words;
  if (verb === undefined || verb === '--help' || verb === '-h') return await printOverview(io);
  if (verb === 'help') {
    return rest[0] === undefined
      ? await printOverview(io)
      : await dispatch([rest[0], '--help'], io);
  }
  const load = commandLoaders.get(verb);
  if (load === undefined) throw unknownCommand(verb);
  return await runCommand(verb, await load(), rest, io);
}

async function printOverview(io: CommandIo): Promise<Ending> {
  const commands = await Promise.all([...commandLoaders.values()].map((load) => load()));
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  const lines = [
    'gatewright: control plane and GitOps operator for an AI gateway',
    '',
    ...commands.map(({ usage, summary }) => `  gatewright ${usage.padEnd(width)}  ${summary}`),
    '',
    '  gatewright help <command>    options and worked examples',
    '  gatewright --version',
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
  return 'success';
}

async function runCommand(
  verb: string,
  command: BoundCommand,
  words: readonly string[],
  io: CommandIo,
): Promise<Ending> {
  const usage = ['$0', ...command.usage.split(' ').slice(1)].join(' ');
  const parser = yargs(words.map(dashNamed), io.cwd)
    .scriptName(`gatewright ${verb}`)
    .locale('en')
    .command(usage, command.summary, (builder) => command.declare(builder))
    .option('help', { alias: 'h', type: 'boolean', describe: 'Show this help' })
    .help(false)
    .version(false)
    .strict()
    .exitProcess(false)
    .parserConfiguration({
      // The parser treats several paths as one option given several times.
      'duplicate-arguments-array': usage.includes('..'),
      'boolean-negation': true,
    })
    .wrap(columnsMax)
    .fail((message, error) => {
      if (error instanceof Failure) throw error;
      throw new UsageError(message ?? error.message);
    });
  if (words.includes('--help') || words.includes('-h')) {
    io.stdout.write(`${await parser.getHelp()}\n\n${examplesText(command)}`);
    return 'success';
  }
  // The parser throws some refusals before it returns a promise.
  const options = await Promise.try(() => parser.parseAsync()).catch(async (error: unknown) => {
    if (!(error instanceof UsageError)) throw error;
    throw usageFailure(verb, error.message, await parser.getHelp());
  });
  return await command.run(withDashes(options), io);
}

/** The parser drops a lone `-`, so that it passes under this name; commands see `-` for either. */
const dashName = '/dev/stdin';

function dashNamed(word: string): string {
  return word === '-' ? dashName : word;
}

function withDashes<T extends object>(options: T): T {
  const dashed = (value: unknown): unknown => (value === dashName ? '-' : value);
  const entries = Object.entries(options).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(dashed) : dashed(value),
  ]);
  return Object.fromEntries(entries) as T;
}

function examplesText({ examples }: BoundCommand): string {
  const lines = examples.flatMap(([line, description]) => [`  ${line}`, `      ${description}`]);
  return `Examples:\n${lines.join('\n')}\n`;
}

/** What the parser refused, before it is put into our words. */
class UsageError extends Error {}

function usageFailure(verb: string, message: string, help: string): Failure {
  const unknown = /^Unknown arguments?: (.+)$/.exec(message)?.[1]?.split(', ') ?? [];
  const lines = unknown.length === 0 ? [message.replace(missingPositional, 'too few words')] : [];
  const options = [...help.matchAll(/--([a-z][a-z-]*)/g)].map((match) => match[1]!);
  // The parser names each option twice where it has a dash: as typed and in camel case.
  for (const name of unknown.filter((word) => !/[A-Z]/.test(word))) {
    const suggestion = didYouMean(name, options);
    lines.push(`unknown argument ${name}${suggestion === undefined ? '' : `: ${suggestion}`}`);
  }
  lines.push(`gatewright help ${verb} shows what it takes`);
  return new Failure('invalidInput', lines.join('\n'));
}

function unknownCommand(verb: string): Failure {
  const names = [...commandLoaders.keys()];
  const suggestion = didYouMean(verb, names);
  return new Failure(
    'invalidInput',
    [
      `unknown command ${verb}${suggestion === undefined ? '' : `: ${suggestion}`}`,
      `commands: ${names.join(', ')}`,
    ].join('\n'),
  );
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

/** One line and a hint; the whole of it where the log level asks for detail. */
async function describeUnexpected(error: unknown): Promise<string> {
  const { inspectSettings } = await import('../settings.ts');
  const { logLevel } = inspectSettings().settings;
  if (logLevel === 'debug' || logLevel === 'trace') return `gatewright: ${inspect(error)}\n`;
  const message = error instanceof Error ? error.message : String(error);
  return [
    `gatewright: unexpected error: ${message.split('\n')[0]}`,
    'GATEWRIGHT_LOG_LEVEL=debug shows where it came from',
    '',
  ].join('\n');
}
