/** Defines the `sync` command, which keeps a running server in sync with manifests. */
import { type Ending, Failure } from '../../failure.ts';
import type { DriftMode } from '../../settings/groups/sync.ts';
import { driftModes } from '../../settings/variables/forms.ts';
import { readSettings } from '../../settings.ts';
import { openLoop } from '../../sync/loop/open-loop.ts';
import { textParts } from '../../sync/report/text.ts';
import { sourceText } from '../../sync/resources/applied-source.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { gitLocationAt } from '../../sync/source/git-location.ts';
import { isStandardInput } from '../../sync/source/source.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  durationOption,
  optionalChoiceOption,
  outputForm,
  portOption,
  switchOption,
} from '../shared/option.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import {
  applyCommand,
  type FollowUpOptions,
  holderName,
  type ManifestOptions,
  manifestOptions,
  type OpenedManifests,
  openClient,
  openManifests,
} from '../sources/manifest-options.ts';
import { watchPace } from '../sources/watch-pace.ts';
import { readAnnouncements } from './announcements.ts';
import { openClusterParts } from './cluster-parts.ts';
import { withCommitStatuses } from './commit-status-of-run.ts';
import { type DaemonContext, runDaemon } from './daemon.ts';
import { SyncEvents } from './sync-events.ts';

interface SyncOptions extends ManifestOptions {
  readonly once: boolean;
  /** Seconds. */
  readonly interval: number | undefined;
  readonly drift: DriftMode | undefined;
  readonly port: number | undefined;
  readonly 'no-prune': boolean;
  readonly 'prune-keys': boolean;
  readonly 'take-ownership': boolean;
  readonly output: 'text' | 'json';
}

export const sync: Command<SyncOptions> = {
  examples: [
    ['gatewright sync https://git.example.com/gw.git#main:prod', 'Follow a folder of a branch'],
    [
      'gatewright sync ./gateway --interval 10s --drift report',
      'Report changes by others without reverting them',
    ],
    [
      'gatewright sync ./gateway --once -o json',
      'In CI: one sync, one JSON document, its exit code',
    ],
  ],
  options: {
    ...manifestOptions,
    once: switchOption('Stop after one sync, with its exit code'),
    interval: durationOption(
      { min: 1, max: 86_400, example: '1m' },
      {
        describe: 'Time between two looks at the source',
        fallback: 'GATEWRIGHT_SYNC_INTERVAL_SECONDS, else 1m for Git, less for what is near',
      },
    ),
    drift: optionalChoiceOption(driftModes, {
      describe: 'What becomes of changes that others make on the server',
      fallback: 'GATEWRIGHT_SYNC_DRIFT, else heal',
    }),
    port: portOption(8081, {
      describe: 'Port of /livez, /readyz, /metrics and /webhook; 0 selects a free port',
      fallback: 'GATEWRIGHT_SYNC_PORT, else none is opened',
    }),
    'no-prune': switchOption('Leave on the server what left the source, instead of deleting it'),
    'prune-keys': switchOption('Also delete API keys and workspaces that left the source'),
    'take-ownership': switchOption(
      'Take over resources that are unmanaged or belong to another owner',
    ),
    output: outputForm(['text', 'json'], 'Output format; json prints one event a line'),
  },
  conflicts: [
    ['once', 'interval'],
    ['once', 'drift'],
    ['once', 'port'],
    ['no-prune', 'prune-keys'],
  ],
  run: async (options, io) => {
    const manifests = openManifests(options, io);
    if (!options.once && manifests.locations.some(isStandardInput)) {
      throw new Failure(
        'invalidInput',
        'standard input can be read once only; name a folder or a Git URL, or add --once',
      );
    }
    await using client = openClient(options, io);
    const context = await openContext(options, io, manifests, client);
    return options.once ? await syncOnce(context, options, io) : await runDaemon(context);
  },
};

async function openContext(
  options: SyncOptions,
  io: CommandIo,
  manifests: OpenedManifests,
  client: AdminClient,
): Promise<DaemonContext> {
  const settings = readSettings(undefined, { cwd: io.cwd });
  const { locations, newest } = manifests;
  const pace = watchPace(locations, settings);
  const { interval, drift } = options;
  const { owner } = client;
  return {
    locations,
    announcements: readAnnouncements(settings, { owner, locations, cwd: io.cwd }),
    cluster: await openClusterParts(io.cwd, settings.sync.kubernetes, owner),
    events: new SyncEvents(options.output, io, () => Date.now()),
    listen: {
      host: settings.server.host,
      port: options.port ?? settings.sync.port,
      readyMs: settings.sync.readySeconds * 1000,
      webhookSecret: settings.sync.webhookSecret,
    },
    loop: {
      client,
      source: sourceText({ repo: locations.join(' '), environment: manifests.environment }),
      newest,
      probeMs: interval === undefined ? pace.probeMs : interval * 1000,
      drift: { ...pace.drift, ...(drift === undefined ? {} : { mode: drift }) },
      readDesired: manifests.readValidPart,
      copies: manifests.copies,
      readAt: (commit) => openAt(commit, options, manifests, io).readValidPart(),
      scope: manifests.scope,
      descent: manifests.descent,
      prune: !options['no-prune'],
      takeOwnership: options['take-ownership'],
      settleMs: settings.sync.pruneSettleSeconds * 1000,
      pruneKeys: options['prune-keys'],
      secretsFolder: manifests.secretsFolder,
      openSinks: manifests.openSinks,
      command: applyCommand(portableOptions(options, client, manifests), io.cwd),
      holder: holderName('sync'),
      onWait: (message) => io.stderr.write(`${message}\n`),
      signal: io.signal,
    },
  };
}

/** Opens one commit of a source that is a single Git repository. */
function openAt(
  commit: string,
  options: SyncOptions,
  { locations }: OpenedManifests,
  io: CommandIo,
): OpenedManifests {
  return openManifests({ ...options, paths: [gitLocationAt(locations[0]!, commit)] }, io);
}

/** Options that a printed command must contain, because it runs in shells without these settings. */
function portableOptions(
  options: SyncOptions,
  { owner }: AdminClient,
  { environment }: OpenedManifests,
): FollowUpOptions {
  return { ...options, owner, env: environment ?? undefined, output: 'text' };
}

async function syncOnce(
  { loop, announcements }: DaemonContext,
  options: SyncOptions,
  io: CommandIo,
): Promise<Ending> {
  const { client, newest } = loop;
  const run = { announcements, owner: client.owner, newest, io };
  const result = await withCommitStatuses(run, () => openLoop(loop).runOnce());
  if (options.output === 'json') io.stdout.writeJson(cycleDocument(result));
  else io.stdout.writeParts(textParts(result));
  return result.ending;
}
