/** Runs a command line: parses it, runs the command, and reports how it ended. */
import type { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { type Ending, Failure } from '../failure.ts';
import { environmentIn } from '../settings/reading/environment.ts';
import { commands } from './all-commands.ts';
import { listCandidates } from './completion/candidates.ts';
import { completionRequest, parseCommandLine } from './parsing/command-parser.ts';
import type { CommandIo } from './shared/command.ts';
import { TextOutput, type TextStream } from './shared/text-output.ts';

/** The streams, the signal and the folder that the process gives to a command. */
export interface ProcessIo {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Aborted by SIGHUP, SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly cwd: string;
  readonly onStarted?: CommandIo['onStarted'];
}

/**
 * Runs the command that `words` (the arguments without node and script) name. Prints only the
 * message of a `Failure`. Returns `interrupted` when a signal ended the command early.
 */
export async function runCommandLine(
  words: readonly string[],
  processIo: ProcessIo,
): Promise<Ending | 'interrupted'> {
  const { rest, mayColor } = takeColorOption(words);
  const io = openIo(processIo, mayColor);
  try {
    return await dispatch(rest, io);
  } catch (error) {
    const isInterrupted = io.signal.aborted && isCausedByAbort(error, io.signal);
    if (error instanceof Failure) {
      io.stderr.write(`gatewright: ${error.message}\n`);
      return isInterrupted ? 'interrupted' : error.kind;
    }
    if (isInterrupted) return 'interrupted';
    io.stderr.write(await describeUnexpected(error));
    return 'unexpected';
  }
}

const colorOptions = ['--no-color', '--no-colour'];

/** All commands take this option; after `--` it is a plain word. */
function takeColorOption(words: readonly string[]): {
  readonly rest: readonly string[];
  readonly mayColor: boolean;
} {
  const separator = words.indexOf('--');
  const end = separator === -1 ? words.length : separator;
  const rest = words.filter((word, at) => at >= end || !colorOptions.includes(word));
  return { rest, mayColor: rest.length === words.length };
}

/** Commands write only through these outputs. NO_COLOR follows no-color.org. */
function openIo(processIo: ProcessIo, isColorWanted: boolean): CommandIo {
  const { signal, cwd, onStarted = async () => {} } = processIo;
  const mayColor = (): boolean => isColorWanted && (environmentIn(cwd)('NO_COLOR') ?? '') === '';
  return {
    get stdin() {
      return processIo.stdin;
    },
    stdout: new TextOutput(() => processIo.stdout, mayColor),
    stderr: new TextOutput(() => processIo.stderr, mayColor),
    signal,
    cwd,
    onStarted,
  };
}

async function dispatch(words: readonly string[], io: CommandIo): Promise<Ending> {
  if (words[0] === completionRequest) {
    io.stdout.writeExact(await listCandidates(words.slice(2), commands));
    return 'success';
  }
  const parsed = await parseCommandLine(words, commands);
  if (parsed.kind === 'text') {
    io.stdout.write(parsed.text);
    return 'success';
  }
  const ending = await parsed.run(io);
  await io.onStarted();
  return ending;
}

/** A failed connection counts as interrupted too: the abort ended its wait. */
function isCausedByAbort(error: unknown, signal: AbortSignal): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof Failure && error.kind === 'unreachable') return true;
  return error === signal.reason || error.cause === signal.reason || error.name === 'AbortError';
}

/** One line and a hint; the whole error at log level debug or trace. */
async function describeUnexpected(error: unknown): Promise<string> {
  const { inspectSettings } = await import('../settings.ts');
  const { logLevel } = inspectSettings().settings;
  if (logLevel === 'debug' || logLevel === 'trace') return `gatewright: ${inspect(error)}\n`;
  const message = error instanceof Error ? error.message : String(error);
  return [
    `gatewright: unexpected error: ${message.split('\n')[0]}`,
    'Set GATEWRIGHT_LOG_LEVEL=debug to see the stack trace',
    '',
  ].join('\n');
}
