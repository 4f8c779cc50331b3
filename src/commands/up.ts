/** Knows the command that takes a folder of manifests to a running, self-hosted control plane. */
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { type App, createApp } from '../app.ts';
import { systemClock } from '../clock.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../embedded/embedded-database.ts';
import { acquireHomeLock } from '../embedded/home-lock.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { createLog, type Log } from '../log.ts';
import { type DatabaseSettings, readSettings, type Settings } from '../settings.ts';
import { type MigrationReport, migrate } from '../store/migrate.ts';
import { isGitLocation } from '../sync/git-location.ts';
import { type CycleOptions, reconcile } from '../sync/reconcile.ts';
import { folderProbeMs, gitProbeMs, type WatchEvent, watch } from '../sync/watch.ts';
import type { Command, CommandIo } from './command.ts';
import { describeDatabase, embeddedSettings } from './database.ts';
import { openClient, openManifests, shellWord, wantsColor } from './options.ts';
import { credentialsPathOf, ensureCredentials, ensureMasterKey } from './up-home.ts';
import {
  createProgress,
  eventText,
  exitCodeOf,
  type StartReport,
  type SyncOutcome,
  startDocument,
  startText,
} from './up-report.ts';

interface Options {
  home: string | undefined;
  port: number | undefined;
  source: string | undefined;
  once: boolean;
  json: boolean;
  offline: boolean;
}

export const up: Command<Options> = {
  usage: 'up',
  summary: 'Run everything on this machine: database, server, and a sync that watches a folder',
  examples: [
    ['gatewright up', 'Sync ./gateway, or in a clone examples/1-quickstart, and keep watching it'],
    ['gatewright up --source ../team/gateway --port 9000', 'Another folder, another port'],
    ['gatewright up --source https://git.example.com/gw.git#main:prod', 'A folder of a branch'],
    ['gatewright up --once --json --port 0', 'In a script: one sync, one JSON document, the end'],
  ],
  options: (yargs) =>
    yargs
      .option('home', {
        type: 'string',
        describe: 'Folder of the database, keys and credentials (GATEWRIGHT_HOME)',
      })
      .option('port', { type: 'number', describe: 'Port of the API (PORT); 0 takes a free one' })
      .option('source', { type: 'string', describe: 'Folder of manifests, or Git URL' })
      .option('once', {
        type: 'boolean',
        default: false,
        describe: 'Stop after the first sync, with its exit code',
      })
      .option('json', {
        type: 'boolean',
        default: false,
        describe: 'Print the report as one JSON document; logs go to standard error',
      })
      .option('offline', {
        type: 'boolean',
        default: false,
        describe: 'Fetch nothing; a database server must be installed',
      })
      .check(({ port }) => {
        const isPort = port === undefined || (Number.isInteger(port) && port >= 0 && port < 65_536);
        if (!isPort) throw new Error('--port is a whole number from 0 to 65535');
        return true;
      }),
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const source = options.source ?? defaultSource(io.cwd);
    await openManifests({ ...manifestOptions(home), source }, io).source.newest();
    await using start = await startAll(settings, { home, source }, options, io);
    return options.once ? await syncOnce(start) : await syncOn(start);
  },
};

/** Everything a running `up` holds; disposing of it stops the parts in the reverse of their order. */
interface Start extends AsyncDisposable {
  readonly options: Options;
  readonly io: CommandIo;
  readonly place: Place;
  readonly progress: (line: string) => void;
  readonly migration: MigrationReport;
  readonly addresses: { readonly adminUrl: string; readonly metricsUrl: string };
  readonly embedded: EmbeddedDatabase | null;
}

interface Place {
  readonly home: string;
  readonly source: string;
}

async function startAll(
  settings: Settings,
  place: Place,
  options: Options,
  io: CommandIo,
): Promise<Start> {
  const { home } = place;
  const progress = createProgress(io.stderr);
  await using parts = new AsyncDisposableStack();
  const lock = parts.use(acquireHomeLock(home));
  progress(`home ${home}`);
  const log = createUpLog(settings, home, options, io, parts);
  for (const warning of settings.warnings) progress(`warning: ${warning}`);
  const embedded =
    settings.database === null
      ? await startEmbeddedDatabase(home, {
          offline: options.offline,
          progress,
          signal: io.signal,
        })
      : null;
  if (embedded !== null) parts.defer(() => embedded.stop());
  const database = embedded
    ? embeddedSettings(embedded.connection, settings.databasePoolSize)
    : settings.database!;
  const migration = await migrateDatabase(database, log, progress, io.signal);
  const masterKey = settings.masterKey ?? ensureMasterKey(home);
  const server = serverSettings(settings, options.port);
  const app = parts.use(await createApp({ ...settings, database, masterKey, server }, { log }));
  const addresses = await listen(app, server);
  await ensureCredentials({
    app,
    home,
    url: addresses.adminUrl,
    apiKeyPrefix: settings.apiKeyPrefix,
    auditLogs: settings.features.auditLogs,
    now: systemClock.now(),
  });
  lock.publishAddress(addresses.adminUrl);
  progress(`serving the Admin API on ${addresses.adminUrl}`);
  const held = parts.move();
  return {
    ...{ options, io, place, progress, migration, addresses, embedded },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** People read the report on the terminal, so the log goes beside it into a file. */
function createUpLog(
  settings: Settings,
  home: string,
  options: Options,
  io: CommandIo,
  parts: AsyncDisposableStack,
): Log {
  if (options.json) return createLog({ level: settings.logLevel, destination: io.stderr });
  const file: Writable = createWriteStream(logPathOf(home), { flags: 'w', mode: 0o600 });
  parts.defer(() => new Promise<void>((done) => file.end(done)));
  return createLog({ level: settings.logLevel, destination: file });
}

function logPathOf(home: string): string {
  return join(home, 'gatewright.log');
}

async function migrateDatabase(
  database: DatabaseSettings,
  log: Log,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<MigrationReport> {
  let current = '';
  const report = await migrate(database, {
    log,
    signal,
    onStep: ({ migration }) => {
      if (migration !== current) progress(`migrating: ${migration}`);
      current = migration;
    },
  });
  progress(`database ${describeDatabase(database)} is at ${report.schemaVersion}`);
  return report;
}

/** `--port 0` asks for no fixed port, so it frees the one of the metrics, too. */
function serverSettings({ server }: Settings, port: number | undefined): Settings['server'] {
  if (port === undefined) return server;
  return { ...server, port, metricsPort: port === 0 ? 0 : server.metricsPort };
}

async function listen(app: App, server: Settings['server']): ReturnType<App['listen']> {
  try {
    return await app.listen();
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { port?: number };
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : 'may not be used';
    const fix =
      port === server.metricsPort
        ? 'set GATEWRIGHT_METRICS_PORT to another one, or pass --port 0 for free ones'
        : 'pass another one with --port, or --port 0 for a free one';
    throw new Failure(exitCodes.invalidInput, `port ${port} on ${server.host} ${reason}\n${fix}`, {
      cause: error,
    });
  }
}

function manifestOptions(home: string) {
  return { home, credentials: credentialsPathOf(home), owner: undefined, 'secrets-dir': undefined };
}

/** What both ways of syncing share. */
function cycleOptions(start: Start): Omit<CycleOptions, 'client' | 'act'> {
  const { place, io } = start;
  const manifests = openManifests({ ...manifestOptions(place.home), source: place.source }, io);
  return {
    readDesired: manifests.read,
    prune: true,
    allowDeletes: null,
    takeOwnership: false,
    secretsFolder: manifests.secretsFolder,
    command: `${programName()} apply ${shellWord(place.source)}`,
    signal: io.signal,
  };
}

async function syncOnce(start: Start): Promise<ExitCode> {
  const { io, place, progress } = start;
  await using client = openClient(manifestOptions(place.home), io);
  progress(`syncing ${place.source}`);
  const outcome = await reconcile({ ...cycleOptions(start), client, act: true }).then(
    (result): SyncOutcome => ({ result, failure: null }),
    (error: unknown): SyncOutcome => {
      if (error instanceof Failure) return { result: null, failure: error };
      throw error;
    },
  );
  printStart(start, outcome);
  return exitCodeOf(outcome);
}

/** Runs until the signal; throws `Failure` when the embedded database ends before that. */
async function syncOn(start: Start): Promise<ExitCode> {
  const { io, place, progress, embedded } = start;
  await using client = openClient(manifestOptions(place.home), io);
  const ended = new AbortController();
  void embedded?.exited.then((how) => ended.abort(how));
  const signal = AbortSignal.any([io.signal, ended.signal]);
  const { source } = openManifests({ ...manifestOptions(place.home), source: place.source }, io);
  progress(`syncing ${place.source}, and watching it`);
  let isFirst = true;
  await watch({
    ...cycleOptions(start),
    client,
    signal,
    newest: () => source.newest(),
    probeMs: isGitLocation(place.source) ? gitProbeMs : folderProbeMs,
    onEvent: (event) => {
      if (isFirst) printStart(start, outcomeOf(event));
      else printEvent(start, event);
      isFirst = false;
    },
  });
  if (!io.signal.aborted) throw databaseEnded(place.home, String(ended.signal.reason));
  progress('stopping');
  return exitCodes.success;
}

function outcomeOf(event: WatchEvent): SyncOutcome {
  return event.kind === 'cycle'
    ? { result: event.result, failure: null }
    : { result: null, failure: event.failure };
}

function databaseEnded(home: string, how: string): Failure {
  return new Failure(
    exitCodes.unexpected,
    `the embedded database ended unexpectedly (${how}); everything acknowledged is on disk.\n` +
      `Its log is ${join(home, 'database.log')}. Start again to go on.`,
  );
}

function printStart(start: Start, outcome: SyncOutcome): void {
  const { io, place, options, addresses, migration } = start;
  const report: StartReport = {
    ...{ ...place, addresses, migration, outcome, version: readVersion() },
    embedded: start.embedded !== null,
    credentialsPath: credentialsPathOf(place.home),
    logPath: options.json ? null : logPathOf(place.home),
    program: programName(),
  };
  io.stdout.write(
    options.json
      ? `${JSON.stringify(startDocument(report), null, 2)}\n`
      : startText(report, wantsColor(io)),
  );
  if (options.once) return;
  io.stderr.write(`\nwatching ${place.source}; Ctrl-C stops everything\n`);
}

/** With `--json` standard output holds the one document; what follows is for people. */
function printEvent({ io, options }: Start, event: WatchEvent): void {
  const output = options.json ? io.stderr : io.stdout;
  output.write(eventText(event, !options.json && wantsColor(io)));
}

/** The root of the clone this runs from, or null when it runs as an installed package. */
function cloneRoot(): string | null {
  const root = resolve(import.meta.dirname, '../..');
  return existsSync(join(root, 'src/main.ts')) ? root : null;
}

function programName(): string {
  const root = cloneRoot();
  return root === null ? 'gatewright' : relative(process.cwd(), join(root, 'bin/gatewright'));
}

function defaultSource(cwd: string): string {
  if (existsSync(join(cwd, 'gateway'))) return 'gateway';
  const root = cloneRoot();
  if (root !== null) return relative(cwd, join(root, 'examples/1-quickstart'));
  throw new Failure(
    exitCodes.invalidInput,
    'there is no folder ./gateway to sync. Pass the folder of your manifests, or a Git URL: ' +
      'gatewright up --source DIR',
  );
}

function readVersion(): string {
  const manifest = readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
