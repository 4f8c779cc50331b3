/** Knows what a command of the CLI is: data plus one function from options to an exit code. */
import type { Readable } from 'node:stream';
import type { Ending } from '../../failure.ts';
import type { OptionTable } from './option.ts';
import type { TextOutput } from './text-output.ts';

/** What a command may touch of the outside, so that main alone knows the process. */
export interface CommandIo {
  /** Manifests for the location `-`, and answers to questions when it is a terminal. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Data only. */
  readonly stdout: TextOutput;
  /** Logs, progress and messages. */
  readonly stderr: TextOutput;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly cwd: string;
  /** Called by a command that goes on, when it works; for others when they went all their way. */
  readonly onStarted: () => Promise<void>;
}

export interface Command<Options> {
  readonly summary: string;
  /** Command line and what it does, shown by --help. */
  readonly examples: readonly (readonly [string, string])[];
  readonly options: OptionTable<Options>;
  /** Pairs of switches that exclude each other. */
  readonly conflicts?: readonly (readonly [keyof Options & string, keyof Options & string])[];
  readonly run: (options: Options, io: CommandIo) => Promise<Ending>;
}
