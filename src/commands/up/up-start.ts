/** Starts the parts of `up` in order and stops them in reverse: lock, log, database, server. */
import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Addresses } from '../../app/listen.ts';
import { proveMasterKeys } from '../../app/master-key-check.ts';
import { createApp } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import { isConsoleBuilt } from '../../console/console-files.ts';
import {
  type EmbeddedDatabase,
  findData,
  startEmbeddedDatabase,
} from '../../embedded/embedded-database.ts';
import { acquireHomeLock } from '../../embedded/home-lock.ts';
import { createLog, type Log } from '../../log.ts';
import type { MasterKeySettings } from '../../settings/groups/master-keys.ts';
import type { DatabaseSettings, Settings } from '../../settings.ts';
import { type MigrationReport, migrate } from '../../store/migrations/migrate.ts';
import { readTrustedHosts } from '../../trusted-hosts.ts';
import { describeDatabase, embeddedSettings } from '../database/database.ts';
import {
  assertNoMasterKey,
  createHomeKeys,
  ensureHomeKeys,
  missingHomeKey,
  readHomeKeys,
} from '../database/home-keys.ts';
import { startMockServer } from '../mock-upstream/mock-server.ts';
import type { CommandIo } from '../shared/command.ts';
import { keepHeapSmall } from '../shared/heap.ts';
import { ensureCredentials } from './up-home.ts';
import { choosePorts, type RequestedPorts } from './up-ports.ts';

export interface StartOptions {
  readonly settings: Settings;
  /** Absolute path. */
  readonly home: string;
  /** Overrides the settings; 0 selects free ports. */
  readonly port: number | undefined;
  readonly requestedPorts: RequestedPorts;
  /** Whether to run the mock upstream, which the manifests of the quickstart use. */
  readonly mocksUpstream: boolean;
  /** Do not use the network. */
  readonly offline: boolean;
  /** Log file; null for standard error. */
  readonly logPath: string | null;
  /** Called with one line for each step. */
  readonly progress: (line: string) => void;
}

/** `up` runs every component; MCP can be switched off. */
export type UpAddresses = { readonly [A in Exclude<keyof Addresses, 'mcpUrl'>]: string } & Pick<
  Addresses,
  'mcpUrl'
>;

/** A running deployment; disposing of it stops everything, the database last. */
export interface Deployment extends AsyncDisposable {
  readonly version: string;
  readonly migration: MigrationReport;
  readonly addresses: UpAddresses;
  /** Null when the settings name a database. */
  readonly embedded: EmbeddedDatabase | null;
  readonly servesConsole: boolean;
}

/** @throws Failure for everything the user can fix, after stopping what was started */
export async function startDeployment(options: StartOptions, io: CommandIo): Promise<Deployment> {
  const { settings, home, progress } = options;
  await using parts = new AsyncDisposableStack();
  const lock = parts.use(acquireHomeLock(home));
  progress(`home ${home}`);
  for (const warning of settings.warnings) progress(`warning: ${warning}`);
  const existing = settings.masterKeys ?? ownMasterKeys(options);
  const wanted = serverSettings(settings, options.port);
  if (wanted.console === false && settings.server.console === null) progress(unbuiltConsole);
  const { server, inference, mcp } = await choosePorts({
    home,
    settings: { ...settings, server: wanted },
    requested: options.requestedPorts,
    mocksUpstream: options.mocksUpstream,
    progress,
  });
  const log = openLog(options, io, parts);
  const embedded = await startDatabase(options, io, parts);
  const database = embedded
    ? embeddedSettings(embedded.connection, settings.databasePoolSize)
    : settings.database!;
  if (existing === null) await assertNoMasterKey(home, database);
  else await proveMasterKeys(database, existing);
  const migration = await migrateDatabase(database, log, progress, io.signal);
  const masterKeys = existing ?? (await ensureHomeKeys(home, database));
  const mock = await startMock(options, inference.mockUpstreamHost, parts);
  const running = {
    ...settings,
    spool: homeSpool(settings, home),
    database,
    masterKeys,
    server,
    mcp,
    snapshot: {
      ...settings.snapshot,
      directory: settings.snapshot.directory ?? join(home, 'snapshot'),
    },
    ...trustMock(settings, inference, mock),
  };
  const app = parts.use(await createApp(running, { log }));
  const addresses = (await app.listen()) as UpAddresses;
  await ensureCredentials({
    app,
    home,
    owner: settings.sync.owner,
    url: addresses.adminUrl,
    inferenceUrl: `${addresses.inferenceUrl}/v1`,
    apiKeyPrefix: settings.apiKeyPrefix,
    auditLogs: settings.features.auditLogs,
    now: systemClock.now(),
    progress,
  });
  lock.publishAddress(addresses.adminUrl);
  progress(`serving the Admin API on ${addresses.adminUrl}`);
  progress(`serving inference on ${addresses.inferenceUrl}/v1`);
  if (addresses.mcpUrl !== null) progress(`serving MCP on ${addresses.mcpUrl}/{server}/mcp`);
  await io.onStarted();
  keepHeapSmall();
  const held = parts.move();
  const { version } = app;
  return {
    version,
    migration,
    addresses,
    embedded,
    servesConsole: server.console === true,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The spool of the home, unless a setting names another folder. */
function homeSpool({ spool }: Pick<Settings, 'spool'>, home: string): Settings['spool'] {
  if (spool.directory !== null) return spool;
  const directory = join(home, 'spool');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return { ...spool, directory };
}

/**
 * The key of the home, created at the first start before the database. Null when the home has no key
 * and the database is configured, because that database may already use a key.
 */
function ownMasterKeys({ settings, home, progress }: StartOptions): MasterKeySettings | null {
  const existing = readHomeKeys(home);
  if (existing !== null || settings.database !== null) return existing;
  const data = findData(home, progress);
  if (data !== null) throw missingHomeKey(home, `The database in ${data}`);
  return createHomeKeys(home);
}

function openLog(
  { settings, logPath }: StartOptions,
  io: CommandIo,
  parts: AsyncDisposableStack,
): Log {
  if (logPath === null)
    return createLog({ level: settings.logLevel ?? 'info', destination: io.stderr });
  // The previous log is preserved, because it may explain why that start ended.
  if (existsSync(logPath)) renameSync(logPath, `${logPath}.1`);
  const file = createWriteStream(logPath, { mode: 0o600 });
  parts.defer(() => new Promise<void>((done) => file.end(done)));
  return createLog({ level: settings.logLevel ?? 'info', destination: file });
}

async function startDatabase(
  { settings, home, offline, progress }: StartOptions,
  { signal }: CommandIo,
  parts: AsyncDisposableStack,
): Promise<EmbeddedDatabase | null> {
  if (settings.database !== null) return null;
  const embedded = await startEmbeddedDatabase(home, { offline, progress, signal });
  parts.defer(() => embedded.stop());
  return embedded;
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
  const where = database.socketPath === null ? ` of ${describeDatabase(database)}` : '';
  progress(`the schema${where} is at ${report.schemaVersion}`);
  return report;
}

/** Address of the mock upstream; null when none runs. Nothing else is ever called in its place. */
async function startMock(
  { mocksUpstream, progress }: StartOptions,
  wanted: string | null,
  parts: AsyncDisposableStack,
): Promise<string | null> {
  if (!mocksUpstream || wanted === null) return null;
  const { hostname, port } = new URL(`http://${wanted}`);
  // The port 80 of a URL is not written out.
  const mock = parts.use(await startMockServer(hostname, Number(port || 80)));
  progress(`a mock upstream, which echoes, answers on ${mock.url}; MCP on ${mock.mcpUrl}`);
  return new URL(mock.url).host;
}

/** Makes the mock upstream a provider and a trusted host. */
function trustMock(
  { trustedHosts }: Settings,
  inference: Settings['inference'],
  mock: string | null,
): Pick<Settings, 'inference' | 'trustedHosts'> {
  const read = mock === null ? { hosts: [] } : readTrustedHosts(mock);
  const hosts = 'hosts' in read ? read.hosts : [];
  return {
    inference: { ...inference, mockUpstreamHost: mock },
    trustedHosts: [...trustedHosts, ...hosts],
  };
}

const unbuiltConsole = 'the console is off, because it is not built; `npm start` builds it';

/**
 * `--port 0` also selects a free metrics port. There is no load balancer in front of `up`, so it stops
 * without a lame-duck period unless the settings configure one. The console is on where it is built.
 */
function serverSettings(settings: Settings, port: number | undefined): Settings['server'] {
  const { lameDuckSeconds, console: isConsoleOn } = settings.server;
  const server = {
    ...settings.server,
    lameDuckSeconds: lameDuckSeconds ?? 0,
    console: isConsoleOn ?? isConsoleBuilt(),
  };
  if (port === undefined) return server;
  return { ...server, port, metricsPort: port === 0 ? 0 : server.metricsPort };
}

/** Log file of `up`; log lines on the terminal would interrupt the report. */
export function logPathOf(home: string): string {
  return join(home, 'gatewright.log');
}
