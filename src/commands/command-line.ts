/** Knows how a command line becomes a command's options, and how its end is told to the user. */
import type { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { type Ending, Failure } from '../failure.ts';
import { environmentIn } from '../settings/reading/environment.ts';
import { didYouMean } from '../suggest.ts';
import { type BoundCommand, commandLoaders } from './all-commands.ts';
import type { CommandIo } from './shared/command.ts';
import { quoted } from './shared/option.ts';
import { TextOutput, type TextStream } from './shared/text-output.ts';

/** What the process has to do with a command. */
export interface Outside {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly cwd: string;
  readonly onStarted?: CommandIo['onStarted'];
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
    const isInterrupted = io.signal.aborted && isOfAbort(error, io.signal);
    if (error instanceof Failure) {
      io.stderr.write(`gatewright: ${error.message}\n`);
      return isInterrupted ? 'interrupted' : error.kind;
    }
    if (isInterrupted) return 'interrupted';
    io.stderr.write(await describeUnexpected(error));
    return 'unexpected';
  }
}

/** Commands say nothing but through this. Colour: no-color.org. */
function openIo(outside: Outside): CommandIo {
  const { signal, cwd, onStarted = async () => {} } = outside;
  const mayColor = (): boolean => (environmentIn(cwd)('NO_COLOR') ?? '') === '';
  return {
    get stdin() {
      return outside.stdin;
    },
    stdout: new TextOutput(() => outside.stdout, mayColor),
    stderr: new TextOutput(() => outside.stderr, mayColor),
    signal,
    cwd,
    onStarted,
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
    'gatewright <command>: control plane and GitOps operator for an AI gateway',
    '',
    ...commands.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`),
    '',
    `  ${'help <command>'.padEnd(width)}  Options and worked examples`,
    `  ${'--version'.padEnd(width)}  Version of this program`,
    '',
    'Settings come from the environment and from .env; gatewright settings lists them.',
    'Exit codes: 0 done, 1 unexpected, 2 changes are there, 3 partly failed, 4 refused by a guard,',
    '5 invalid input, 6 out of reach, 7 try again, 8 plan anew; 130 and 143 when ended by Ctrl-C or SIGTERM.',
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
  return 'success';
}

async function runCommand(
  name: string,
  command: BoundCommand,
  words: readonly string[],
  io: CommandIo,
): Promise<Ending> {
  if (command.asksForHelp(words)) {
    io.stdout.write(command.help);
    return 'success';
  }
  const ending = await bindWords(name, command, words)(io);
  await io.onStarted();
  return ending;
}

function bindWords(name: string, command: BoundCommand, words: readonly string[]) {
  try {
    return command.bind(words);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message = `${name}: ${error.message} (gatewright help ${name} shows what it takes)`;
    throw new Failure('invalidInput', message, { cause: error });
  }
}

function unknownCommand(verb: string): Failure {
  const names = [...commandLoaders.keys()];
  const isOption = verb.startsWith('-');
  const suggestion = didYouMean(verb, isOption ? ['--help', '--version'] : names);
  const hint = suggestion === undefined ? '' : `: ${suggestion}`;
  const what = isOption ? 'a command comes before its options; unknown option' : 'unknown command';
  const message = `${what} ${quoted(verb)}${hint} (commands: ${names.join(', ')})`;
  return new Failure('invalidInput', message);
}

/** A wait for what does not answer is waited for no longer than it lasts, and counts as broken off. */
function isOfAbort(error: unknown, signal: AbortSignal): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof Failure && error.kind === 'unreachable') return true;
  return error === signal.reason || error.cause === signal.reason || error.name === 'AbortError';
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
