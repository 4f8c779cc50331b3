/** Defines the `up` command, which runs database, server and sync of a folder on this machine. */
/*
 * Phases of `up`. One process owns one home; it starts its parts in order of their dependencies, and
 * stops them in reverse.
 *
 *   source       the source exists                       nothing is started yet
 *   locked       the home is this process's              a kernel lock: it ends with the process
 *   ready        ports are free, the master key exists   nothing is downloaded or created yet
 *   database     embedded or configured server is up     created in a temporary folder and renamed
 *   migrated     the schema is this build's              resumable at each statement
 *   serving      master key verified, ports open         the key is written before anything needs it
 *   credentials  credentials.json fits the database      the tenant id is written before the tenant
 *   syncing      the first cycle, then the loop          see sync/loop/watch.ts
 *   stopping     loop, server, database, log, lock       each waits for its running work
 *
 * A wrong source is reported before anything is started, so that a typing error does not create a
 * database. Once the server listens, a wrong source stops nothing: the last applied state stays, the
 * API responds, and the loop reports what to correct.
 *
 * Crashes. Before `serving`, each step is complete or not begun at the next start. A crash between
 * tenant and credentials leaves a service account with an unknown secret; the next start creates
 * another one for the same tenant, and no resource is lost. During a cycle every change is one
 * transaction of the server and is repeated; keys follow the protocol of
 * docs/guides/key-delivery.md. When this process is killed, the embedded server is killed too
 * (embedded/leash.ts) and later recovers all acknowledged writes. When that server ends first, `up`
 * ends as well, because serving without a database would hide the failure. The first signal stops in
 * order, the second one at once.
 *
 * `--once` runs the same phases up to the first cycle and ends with its result.
 */

import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { detach } from '../../detached.ts';
import { freeMebibytes } from '../../embedded/embedded-database.ts';
import { makeHome } from '../../embedded/home-lock.ts';
import { type Ending, Failure } from '../../failure.ts';
import { packageRoot } from '../../package-root.ts';
import type { Settings } from '../../settings.ts';
import { SourceCopies } from '../../sync/cycle/source-copies.ts';
import { readSource } from '../../sync/desired/desired.ts';
import { type LoopOptions, openLoop } from '../../sync/loop/open-loop.ts';
import { sourceText } from '../../sync/resources/applied-source.ts';
import type { DesiredSet } from '../../sync/resources/resource-set.ts';
import { gitLocationAt, isGitLocation } from '../../sync/source/git-location.ts';
import { openSource, readSources } from '../../sync/source/source.ts';
import type { Source } from '../../sync/source/source-files.ts';
import type { LoopEvent } from '../../sync/status/loop-event.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { credentialsPathOf } from '../shared/credentials-file.ts';
import {
  environmentOption,
  outputForm,
  portOption,
  switchOption,
  textOption,
} from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import { holderName, openClient } from '../sources/manifest-options.ts';
import { requireValidPart } from '../sources/valid-part.ts';
import { valueStoresIn } from '../sources/value-stores.ts';
import { eventText } from '../sources/watch-event.ts';
import { watchPace } from '../sources/watch-pace.ts';
import { readUpSettings, requireOpenFiles } from './up-checks.ts';
import { type ConsoleReport, reportConsole } from './up-console.ts';
import {
  createProgress,
  endingOf,
  type StartReport,
  type SyncOutcome,
  startDocument,
  startText,
} from './up-report.ts';
import { type Deployment, logPathOf, startDeployment } from './up-start.ts';
import { triesOf } from './up-tries.ts';

interface Options {
  home: string | undefined;
  port: number | undefined;
  source: string | undefined;
  env: string | undefined;
  once: boolean;
  output: 'text' | 'json';
  offline: boolean;
  'prune-keys': boolean;
}

export const up: Command<Options> = {
  examples: [
    ['gatewright up', 'Sync ./gateway, or in a clone examples/1-quickstart, and watch it'],
    ['gatewright up --source ../team/gateway --port 9000', 'Use another folder and another port'],
    [
      'gatewright up --source https://git.example.com/gw.git#main:prod',
      'Sync a folder of a Git branch',
    ],
    ['gatewright up --once -o json --port 0', 'For scripts: sync once and print one JSON document'],
  ],
  options: {
    home: textOption('DIR', {
      describe: 'Folder of the database, keys and credentials',
      fallback: 'GATEWRIGHT_HOME, else .gatewright',
    }),
    port: portOption(8080, {
      describe: 'Port of the API; 0 selects a free port',
      fallback: 'PORT, else 8080',
    }),
    source: textOption('PLACE', {
      describe: 'Folder of manifests, or Git URL (file:// for a local repository)',
      fallback: './gateway; in a clone examples/1-quickstart',
    }),
    env: environmentOption,
    once: switchOption('Stop after the first sync, with its exit code'),
    output: outputForm(
      ['text', 'json'],
      'Format of the report; with json, logs go to standard error',
    ),
    offline: switchOption('Do not use the network; requires an installed database server'),
    'prune-keys': switchOption(
      'Also delete API keys and workspaces that were removed from the source',
    ),
  },
  run: async (options, io) => {
    requireOpenFiles();
    const { settings, home, requestedPorts } = readUpSettings(io.cwd, options);
    const context = openContext({ settings, home, options, io });
    // Git sources are cloned into the home; folders are checked before anything is created.
    if (isGitLocation(context.location)) makeHome(home);
    await context.source.newest();
    await using started = await startDeployment(
      {
        settings,
        home,
        port: options.port,
        requestedPorts,
        offline: options.offline,
        mocksUpstream: context.isQuickstart,
        logPath: options.output === 'json' ? null : logPathOf(home),
        progress: context.progress,
      },
      io,
    );
    return options.once ? await syncOnce(context, started) : await syncOn(context, started);
  },
};

/** Inputs of one `up`. */
interface Context {
  readonly home: string;
  readonly options: Options;
  readonly io: CommandIo;
  /** The source as named by the user. */
  readonly location: string;
  /** Whether the source is the quickstart of a clone, which uses the mock upstream. */
  readonly isQuickstart: boolean;
  /** Commands to try while it runs. */
  readonly next: readonly string[];
  /** Prints a link that signs in to the console. */
  readonly consoleCommand: string;
  readonly source: Source;
  readonly loop: Omit<LoopOptions, 'client'>;
  readonly progress: (line: string) => void;
}

function openContext(given: {
  settings: Settings;
  home: string;
  options: Options;
  io: CommandIo;
}): Context {
  const { settings, home, options, io } = given;
  const location = options.source ?? defaultSource(io.cwd);
  const isQuickstart = cloneRoot !== null && resolve(io.cwd, location) === quickstart(cloneRoot);
  const secretsFolder = resolve(io.cwd, settings.sync.secretsDirectory ?? join(home, 'secrets'));
  const { sources: secrets, openSinks } = valueStoresIn(io.cwd, secretsFolder, settings);
  const { owner, environment } = settings.sync;
  const env = options.env ?? environment ?? undefined;
  const sourceOptions = {
    cwd: io.cwd,
    cacheDirectory: join(home, 'git'),
    git: { ...settings.sync.git, proxies: settings.proxies },
    environment: env ?? null,
    signal: io.signal,
  };
  const progress = createProgress(io.stderr);
  const atServer = serverNamed(io.cwd, settings, home, options.home);
  const source = openSource(location, sourceOptions);
  const copies = new SourceCopies();
  const read = async (from: string): Promise<DesiredSet> => {
    const found = await readSources([from], sourceOptions);
    const set = requireValidPart(await readSource(found, secrets), null);
    if (from === location) copies.note(found, set);
    return set;
  };
  return {
    home,
    options,
    io,
    location,
    isQuickstart,
    next: [
      shellLine(io.cwd, 'plan', [location], { ...atServer, env: options.env }),
      shellLine(io.cwd, 'export', ['./exported'], atServer),
      // Its slugs are part of the addresses; the quickstart has a whole command instead.
      ...(isQuickstart ? [] : [shellLine(io.cwd, 'get', ['McpServer'], atServer)]),
    ],
    consoleCommand: shellLine(io.cwd, 'console', [], atServer),
    source,
    loop: {
      source: sourceText({ repo: location, environment: env }),
      newest: () => source.newest(),
      ...watchPace([location], settings),
      readDesired: () => read(location),
      copies,
      readAt: (commit) => read(gitLocationAt(location, commit)),
      descent: async (earlier, commit) => await source.descent?.(earlier, commit),
      prune: true,
      takeOwnership: false,
      settleMs: settings.sync.pruneSettleSeconds * 1000,
      pruneKeys: options['prune-keys'],
      secretsFolder,
      openSinks,
      // The server stores this command; it may run in shells without these settings.
      command: (more) =>
        shellLine(io.cwd, 'apply', [location], { ...atServer, owner, env, ...more }),
      holder: holderName('up'),
      onWait: progress,
      signal: io.signal,
    },
    progress,
  };
}

/** Options with which other commands reach this server. */
function serverNamed(cwd: string, settings: Settings, home: string, given: string | undefined) {
  const isUsual = given === undefined && home === resolve(cwd, settings.home);
  const isElsewhere = settings.sync.credentialsFile !== null;
  return {
    home: isUsual ? undefined : (given ?? home),
    credentials: isElsewhere ? credentialsPathOf(home) : undefined,
  };
}

function serverOptions(home: string) {
  return { home, credentials: credentialsPathOf(home), owner: undefined };
}

async function syncOnce(context: Context, started: Deployment): Promise<Ending> {
  const { home, io, location, progress } = context;
  await using client = openClient(serverOptions(home), io);
  progress(`syncing ${location}`);
  const outcome = await openLoop({ ...context.loop, client })
    .runOnce()
    .then(
      (result): SyncOutcome => ({ result, failure: null }),
      (error: unknown): SyncOutcome => {
        if (error instanceof Failure) return { result: null, failure: error };
        throw error;
      },
    );
  printStart(context, started, outcome, null);
  return endingOf(outcome);
}

/** Runs until the signal. @throws Failure when the embedded database ends before that */
async function syncOn(context: Context, started: Deployment): Promise<Ending> {
  const { home, io, location, progress } = context;
  await using client = openClient(serverOptions(home), io);
  const ended = new AbortController();
  detach(
    'the end of the embedded database',
    started.embedded?.exited.then((how) => ended.abort(how)),
  );
  const consoleReport = started.servesConsole
    ? await reportConsole(client, {
        adminUrl: started.addresses.adminUrl,
        command: context.consoleCommand,
        createsLink: context.options.output === 'text' && io.stdout.isTerminal,
        signal: io.signal,
        progress,
      })
    : null;
  progress(`syncing ${location}, and watching it`);
  const signal = AbortSignal.any([io.signal, ended.signal]);
  let isFirst = true;
  await openLoop({ ...context.loop, client, signal }).run({
    onEvent: (event) => {
      if (isFirst) printStart(context, started, outcomeOf(event), consoleReport);
      else printEvent(context, event);
      isFirst = false;
    },
  });
  if (!io.signal.aborted) throw databaseEnded(home, String(ended.signal.reason));
  progress('stopping');
  return 'success';
}

function outcomeOf(event: LoopEvent): SyncOutcome {
  return event.kind === 'failure'
    ? { result: null, failure: event.failure }
    : { result: event.result, failure: null };
}

/** Below this free space, a full disk is the likely reason why a database server ended. */
const fullDiskMebibytes = 8;

/** A database server ends when it cannot write its log. */
function databaseEnded(home: string, how: string): Failure {
  const free = freeMebibytes(home);
  const way =
    free < fullDiskMebibytes
      ? `The disk of ${home} has ${free} MiB left: make room, then start again.`
      : 'Start again to go on.';
  return new Failure(
    'unexpected',
    `the embedded database ended unexpectedly (${how}); everything acknowledged is on disk.\n` +
      `Its log is ${join(home, 'database.log')}. ${way}`,
  );
}

function printStart(
  context: Context,
  started: Deployment,
  outcome: SyncOutcome,
  consoleReport: ConsoleReport | null,
): void {
  const { io, home, location, options } = context;
  const report: StartReport = {
    home,
    source: location,
    outcome,
    version: started.version,
    migration: started.migration,
    addresses: started.addresses,
    console: consoleReport,
    embedded: started.embedded !== null,
    credentialsPath: credentialsPathOf(home),
    logPath: options.output === 'json' ? null : logPathOf(home),
    next: [...context.next, ...triesOf(context, started.addresses)],
  };
  if (options.output === 'json') io.stdout.writeJson(startDocument(report));
  else io.stdout.write(startText(report));
  if (!options.once) io.stderr.write(`\nwatching ${location}; Ctrl-C stops everything\n`);
}

/** With `-o json` standard output contains only the document; events go to standard error. */
function printEvent({ io, options }: Context, event: LoopEvent): void {
  const output = options.output === 'json' ? io.stderr : io.stdout;
  output.write(eventText(event, Date.now()));
}

/** Root of the clone whose sources run here; null in a built package. */
const cloneRoot = import.meta.filename.endsWith('.ts') ? packageRoot() : null;

function quickstart(root: string): string {
  return join(root, 'examples/1-quickstart');
}

function defaultSource(cwd: string): string {
  if (existsSync(join(cwd, 'gateway'))) return 'gateway';
  if (cloneRoot !== null) return relative(cwd, quickstart(cloneRoot)) || '.';
  throw new Failure(
    'invalidInput',
    'the folder ./gateway does not exist. Pass the folder of your manifests, or a Git URL: ' +
      'gatewright up --source DIR',
  );
}
