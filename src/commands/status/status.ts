/** Knows the command that shows where each owner of a server stands, as its runs have told. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { SyncStatus } from '../../model/kinds/sync-record.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { readStatuses } from '../../sync/server/sync-records.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { flag, outputForm, text, workspaceOption } from '../shared/option.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { appliedNow, environmentOf, isSilent, shownState, statusText } from './status-text.ts';
import { refusalAsFailure, resumeLine } from './suspend.ts';

interface StatusOptions extends ServerOptions {
  readonly watch: boolean;
  readonly workspace: readonly string[];
  readonly output: 'text' | 'json' | 'wide';
}

/** Time between two looks of `--watch`. */
const watchMs = 2_000;

export const status: Command<StatusOptions> = {
  examples: [
    ['gatewright status', 'Every owner of the server, and its workspaces'],
    ['gatewright status --owner team-a -o wide', 'One of them, with sources and holders'],
    ['gatewright status --watch', 'Again whenever something has changed'],
  ],
  options: {
    watch: flag('Go on, and show it again whenever it has changed'),
    output: outputForm(['text', 'json', 'wide']),
    ...serverOptions,
    owner: text('NAME', { describe: 'Only this owner', fallback: 'every owner of the server' }),
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
  let shown: string | undefined;
  while (!io.signal.aborted) {
    try {
      const owners = await look(client, options, io);
      const news = newsOf(owners);
      if (news !== shown) show(owners, options, io);
      shown = news;
    } catch (error) {
      if (io.signal.aborted) return;
      if (!(error instanceof Failure) || error.kind !== 'unreachable') throw error;
      if (error.message !== shown) io.stderr.write(`${error.message}\n`);
      shown = error.message;
    }
    await delay(watchMs, undefined, { signal: io.signal }).catch(() => undefined);
  }
}

/** What there is to see apart from the time that passes. */
function newsOf(owners: readonly SyncStatus[]): string {
  return JSON.stringify(
    owners.map((owner) => {
      const { as_of: _, told_at: __, lease, report, ...rest } = owner;
      const { next_look_at: ___, ...told } = report ?? { next_look_at: null };
      return [rest, told, lease?.holder, isSilent(owner)];
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
    'the server keeps no status of syncs; is it a gatewright server of the same version?',
  );
}

/** What concerns these workspaces, all where none is named; nothing of an owner that knows none of them. */
function narrowed(status: SyncStatus, workspaces: readonly string[]): SyncStatus[] {
  if (workspaces.length === 0) return [status];
  const isNamed = ({ workspace }: { readonly workspace: string | null }): boolean =>
    workspace !== null && workspaces.includes(workspace);
  const { report } = status;
  const told = report?.workspaces.filter(isNamed) ?? [];
  const own = status.suspensions.filter(isNamed);
  if (told.length === 0 && own.length === 0) return [];
  const suspensions = status.suspensions.filter((one) => one.workspace === null || isNamed(one));
  return [{ ...status, report: report && { ...report, workspaces: told }, suspensions }];
}

function show(owners: readonly SyncStatus[], options: StatusOptions, io: CommandIo): void {
  if (options.output === 'json') {
    const told = owners.map((owner) => ({
      ...owner,
      state: shownState(owner),
      silent: isSilent(owner),
      applied: appliedNow(owner),
      environment: environmentOf(owner),
    }));
    if (options.watch) io.stdout.writeJsonLine({ owners: told });
    else io.stdout.writeJson({ owners: told });
    return;
  }
  const resumeOf = (owner: string, workspace: string | null): string =>
    resumeLine(io.cwd, { ...options, owner }, workspace);
  io.stdout.write(statusText(owners, { wide: options.output === 'wide', resumeOf }));
}
