/** Knows every command by name, and loads the code of one only when it is wanted. */
import type { Argv } from 'yargs';
import type { Ending } from '../failure.ts';
import type { Command, CommandIo } from './shared/command.ts';

/** A command whose options have been bound to its `run`, so that commands of all kinds make one list. */
export interface BoundCommand extends Pick<Command<unknown>, 'usage' | 'summary' | 'examples'> {
  /** Declares the options on `parser`. */
  readonly declare: (parser: Argv) => Argv<unknown>;
  /** Runs with what the parser made of the command line. */
  readonly run: (options: unknown, io: CommandIo) => Promise<Ending>;
}

function bind<Options>(command: Command<Options>): BoundCommand {
  return {
    usage: command.usage,
    summary: command.summary,
    examples: command.examples,
    declare: (parser) => command.options(parser),
    // The parser that `declare` set up is the one that made these options.
    run: (options, io) => command.run(options as Options, io),
  };
}

/** In the order that help shows. */
export const commandLoaders: ReadonlyMap<string, () => Promise<BoundCommand>> = new Map([
  ['up', async () => bind((await import('./up/up.ts')).up)],
  ['validate', async () => bind((await import('./validate.ts')).validate)],
  ['plan', async () => bind((await import('./plan.ts')).plan)],
  ['apply', async () => bind((await import('./apply.ts')).apply)],
  ['export', async () => bind((await import('./export.ts')).exportCommand)],
  ['serve', async () => bind((await import('./serve.ts')).serve)],
  ['migrate', async () => bind((await import('./migrate.ts')).migrate)],
  ['bootstrap', async () => bind((await import('./bootstrap.ts')).bootstrap)],
  ['jobs', async () => bind((await import('./jobs.ts')).jobs)],
  ['doctor', async () => bind((await import('./doctor.ts')).doctor)],
  ['settings', async () => bind((await import('./settings.ts')).settings)],
]);
