/** Defines a command of the CLI: its options and examples, and the function that runs it. */
import type { Readable } from 'node:stream';
import type { Ending } from '../../failure.ts';
import type { Option, OptionTable } from './option.ts';
import type { TextOutput } from './text-output.ts';

/** The process as a command sees it. Only src/main.ts touches the real one. */
export interface CommandIo {
  /** Manifests for the location `-`, and answers to questions when it is a terminal. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Data only. */
  readonly stdout: TextOutput;
  /** Logs, progress and messages. */
  readonly stderr: TextOutput;
  /** Aborted by SIGHUP, SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly cwd: string;
  /** Long-running commands call this once they are up; for all others it runs after success. */
  readonly onStarted: () => Promise<void>;
}

/** Shown by --help: a command line and what it does. */
type CommandExample = readonly [line: string, effect: string];

export interface Command<Options> {
  readonly examples: readonly CommandExample[];
  readonly options: OptionTable<Options>;
  /** Pairs of options that exclude each other. */
  readonly conflicts?: readonly (readonly [keyof Options & string, keyof Options & string])[];
  readonly run: (options: Options, io: CommandIo) => Promise<Ending>;
}

/** A command whose option types are erased, so that all commands fit one table. */
export interface LoadedCommand {
  readonly examples: readonly CommandExample[];
  readonly options: Readonly<Record<string, Option<unknown>>>;
  readonly conflicts: readonly (readonly [string, string])[];
  readonly run: (options: Readonly<Record<string, unknown>>, io: CommandIo) => Promise<Ending>;
}

/** A row of the command table. The code of the command is loaded only when it is needed. */
export interface CommandEntry {
  /** `plan [paths..]`, in the notation of yargs; names the words that the option table describes. */
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<LoadedCommand>;
}

export function commandEntry<Options>(
  usage: string,
  summary: string,
  load: () => Promise<Command<Options>>,
): CommandEntry {
  return {
    usage,
    summary,
    load: async () => {
      const { examples, options, conflicts = [], run } = await load();
      return {
        examples,
        options: options as unknown as LoadedCommand['options'],
        conflicts,
        run: async (values, io) => await run(values as Options, io),
      };
    },
  };
}
