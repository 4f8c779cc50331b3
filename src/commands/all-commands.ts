/** Knows every command by name, and loads the code of one only when it is wanted. */
import type { Ending } from '../failure.ts';
import type { CompletedCommand } from './completion/completed.ts';
import type { Command, CommandIo } from './shared/command.ts';
import { helpText, usageOf } from './shared/help-text.ts';
import type { Option } from './shared/option.ts';
import { asksForHelp, parseWords } from './shared/parse-words.ts';

/** A command with its options bound to its `run`, so that commands of all kinds make one list. */
export interface BoundCommand extends Pick<Command<unknown>, 'summary' | 'examples'> {
  readonly options: Readonly<Record<string, Option<unknown>>>;
  /** `plan [paths..]` */
  readonly usage: string;
  readonly help: string;
  readonly asksForHelp: (words: readonly string[]) => boolean;
  /** Throws `Failure` when the words are wrong. */
  readonly bind: (words: readonly string[]) => (io: CommandIo) => Promise<Ending>;
}

function bound<Options>(name: string, command: Command<Options>): BoundCommand {
  const { summary, examples } = command;
  const options = command.options as Readonly<Record<string, Option<unknown>>>;
  return {
    summary,
    examples,
    options,
    usage: usageOf(name, options),
    help: helpText(name, { summary, examples, options }),
    asksForHelp: (words) => asksForHelp(words, options),
    bind: (words) => {
      const values = parseWords(words, command.options, command.conflicts);
      return (io) => command.run(values, io);
    },
  };
}

/** In the order that help shows. */
export const commandLoaders: ReadonlyMap<string, () => Promise<BoundCommand>> = new Map([
  ['up', async () => bound('up', (await import('./up/up.ts')).up)],
  ['validate', async () => bound('validate', (await import('./manifests/validate.ts')).validate)],
  ['render', async () => bound('render', (await import('./manifests/render.ts')).render)],
  ['plan', async () => bound('plan', (await import('./changes/plan.ts')).plan)],
  ['apply', async () => bound('apply', (await import('./changes/apply.ts')).apply)],
  ['sync', async () => bound('sync', (await import('./sync/sync.ts')).sync)],
  ['status', async () => bound('status', (await import('./status/status.ts')).status)],
  ['suspend', async () => bound('suspend', (await import('./status/suspend.ts')).suspend)],
  ['resume', async () => bound('resume', (await import('./status/suspend.ts')).resume)],
  ['history', async () => bound('history', (await import('./status/history.ts')).history)],
  ['rollback', async () => bound('rollback', (await import('./changes/rollback.ts')).rollback)],
  ['logs', async () => bound('logs', (await import('./status/logs.ts')).logs)],
  ['audit', async () => bound('audit', (await import('./server/audit.ts')).audit)],
  ['adopt', async () => bound('adopt', (await import('./changes/hand-over.ts')).adopt)],
  ['release', async () => bound('release', (await import('./changes/hand-over.ts')).release)],
  ['export', async () => bound('export', (await import('./changes/export.ts')).exportCommand)],
  ['serve', async () => bound('serve', (await import('./server/serve.ts')).serve)],
  ['migrate', async () => bound('migrate', (await import('./server/migrate.ts')).migrate)],
  ['bootstrap', async () => bound('bootstrap', (await import('./server/bootstrap.ts')).bootstrap)],
  [
    'rotate-master-key',
    async () =>
      bound(
        'rotate-master-key',
        (await import('./server/rotate-master-key.ts')).rotateMasterKeyCommand,
      ),
  ],
  ['jobs', async () => bound('jobs', (await import('./server/jobs.ts')).jobs)],
  [
    'healthcheck',
    async () => bound('healthcheck', (await import('./server/healthcheck.ts')).healthcheck),
  ],
  ['doctor', async () => bound('doctor', (await import('./server/doctor.ts')).doctor)],
  ['settings', async () => bound('settings', (await import('./settings.ts')).settings)],
  ['images', async () => bound('images', (await import('./images.ts')).images)],
  [
    'mock-upstream',
    async () =>
      bound('mock-upstream', (await import('./mock-upstream/mock-upstream.ts')).mockUpstream),
  ],
  ['fmt', async () => bound('fmt', (await import('./manifests/fmt.ts')).fmt)],
  ['new', async () => bound('new', (await import('./manifests/new.ts')).newCommand)],
  [
    'explain',
    async () => bound('explain', (await import('./manifests/explain.ts')).explainCommand),
  ],
  ['schema', async () => bound('schema', (await import('./manifests/schema.ts')).schema)],
  [
    'completion',
    async () => bound('completion', (await import('./completion/completion.ts')).completion(all)),
  ],
]);

/** Every command in that order. */
async function all(): Promise<readonly CompletedCommand[]> {
  return await Promise.all(
    [...commandLoaders].map(async ([name, load]) => ({ name, ...(await load()) })),
  );
}
