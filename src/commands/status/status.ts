/** Defines the `status` command, which shows the state of each owner as reported by its runs. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { SyncStatus } from '../../model/kinds/sync-record.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { readStatuses } from '../../sync/server/sync-records.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { outputForm, switchOption, textOption, workspaceOption } from '../shared/option.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { appliedNow, displayState, environmentOf, isSilent, statusText } from './status-text.ts';
import { refusalAsFailure, resumeLine } from './suspend.ts';

interface StatusOptions extends ServerOptions {
  readonly watch: boolean;
  readonly workspace: readonly string[];
  readonly output: 'text' | 'json' | 'wide';
}

/** Poll interval of `--watch`. */
const watchMs = 2_000;

export const status: Command<StatusOptions> = {
  examples: [
    ['gatewright status', 'Show every owner of the server, with its workspaces'],
    ['gatewright status --owner team-a -o wide', 'Show one owner, with sources and holders'],
    ['gatewright status --watch', 'Print again on every change'],
  ],
  options: {
    watch: switchOption('Keep running and print again on every change'),
    output: outputForm(['text', 'json', 'wide']),
    ...serverOptions,
    owner: textOption('NAME', {
      describe: 'Only this owner',
      fallback: 'every owner of the server',
    }),
    workspace: workspaceOption,
  },
  run: async (options, io) => {
    await using client = openClient(options, io);
    if (options.watch) await showChanges(client, options, io);
    else show(await look(client, options, io), options, io);
    return 'success';
  },
};

async function showChanges(
  client: AdminClient,
  options: StatusOptions,
  io: CommandIo,
): Promise<void> {
  let printed: string | undefined;
  const readers = io.stdout.openReaders();
  while (!io.signal.aborted && !readers.haveExited()) {
    try {
      const owners = await look(client, options, io);
      const state = comparableState(owners);
      if (state !== printed) show(owners, options, io);
      printed = state;
    } catch (error) {
      if (io.signal.aborted) return;
      if (!(error instanceof Failure) || error.kind !== 'unreachable') throw error;
      if (error.message !== printed) io.stderr.write(`${error.message}\n`);
      printed = error.message;
    }
    await delay(watchMs, undefined, { signal: io.signal }).catch(() => undefined);
  }
}

/** The state without timestamps, for detecting changes. */
function comparableState(owners: readonly SyncStatus[]): string {
  return JSON.stringify(
    owners.map((owner) => {
      const { as_of: _, told_at: __, lease, report, ...rest } = owner;
      const { next_look_at: ___, ...reported } = report ?? { next_look_at: null };
      return [rest, reported, lease?.holder, isSilent(owner)];
    }),
  );
}

async function look(
  client: AdminClient,
  options: StatusOptions,
  { signal }: CommandIo,
): Promise<SyncStatus[]> {
  const owner = options.owner ?? null;
  const found = await refusalAsFailure(readStatuses(client, owner, signal));
  if (found !== null) return found.flatMap((one) => narrowed(one, options.workspace));
  throw new Failure(
    'unreachable',
    'the server has no sync status; is it a gatewright server of the same version?',
  );
}

/** Restricts a status to these workspaces (all if empty); an owner without any of them is left out. */
function narrowed(status: SyncStatus, workspaces: readonly string[]): SyncStatus[] {
  if (workspaces.length === 0) return [status];
  const isNamed = ({ workspace }: { readonly workspace: string | null }): boolean =>
    workspace !== null && workspaces.includes(workspace);
  const { report } = status;
  const reported = report?.workspaces.filter(isNamed) ?? [];
  const own = status.suspensions.filter(isNamed);
  if (reported.length === 0 && own.length === 0) return [];
  const suspensions = status.suspensions.filter((one) => one.workspace === null || isNamed(one));
  return [{ ...status, report: report && { ...report, workspaces: reported }, suspensions }];
}

function show(owners: readonly SyncStatus[], options: StatusOptions, io: CommandIo): void {
  if (options.output === 'json') {
    const document = owners.map((owner) => ({
      ...owner,
      state: displayState(owner),
      silent: isSilent(owner),
      applied: appliedNow(owner),
      environment: environmentOf(owner),
    }));
    if (options.watch) io.stdout.writeJsonLine({ owners: document });
    else io.stdout.writeJson({ owners: document });
    return;
  }
  const resumeOf = (owner: string, workspace: string | null): string =>
    resumeLine(io.cwd, { ...options, owner }, workspace);
  io.stdout.write(statusText(owners, { wide: options.output === 'wide', resumeOf }));
}
