/** Assembles a server: database, keys, authentication, Admin API, inference, probes and metrics. */

import { createAdminServer } from './app/admin-server.ts';
import { openBlobs } from './app/blobs.ts';
import { createAppCallerServices } from './app/caller-services.ts';
import { classifyError } from './app/classify-error.ts';
import {
  allComponents,
  type Component,
  runsComponent,
  runsGateways,
  servesWithoutDatabase,
} from './app/components.ts';
import { type CountedRows, createCountedRows } from './app/counted-rows.ts';
import { createAppGateway } from './app/gateway.ts';
import { createJobs } from './app/jobs.ts';
import { createAppLinkListener } from './app/link/link-listener.ts';
import { openConfiguration } from './app/link/open-configuration.ts';
import { connectLinked, openProcessLink, type ProcessLink } from './app/link/process-link.ts';
import { type Addresses, closeServers, listenAll } from './app/listen.ts';
import { createAppMcpPlane } from './app/mcp-plane.ts';
import { createMetrics, type Metrics } from './app/metrics.ts';
import { createMetricsServer } from './app/metrics-server.ts';
import { missingMasterKey } from './app/missing-settings.ts';
import { openAppSnapshot } from './app/outages/app-snapshot.ts';
import { type Changes, openChanges } from './app/outages/changes.ts';
import { linkState } from './app/outages/link-state.ts';
import { createProbes } from './app/outages/process-probes.ts';
import { ProcessState } from './app/outages/process-state.ts';
import { createProcessWork } from './app/outages/process-work.ts';
import { createOutboundClients, type OutboundClients } from './app/outbound-clients.ts';
import { openOwnDatabase } from './app/own-database.ts';
import { createRequestLog } from './app/request-log.ts';
import { createSignIn } from './app/sign-in.ts';
import { createSpanExport } from './app/span-export.ts';
import { createAppSpool, describeSpoolFault } from './app/spool/create-spool.ts';
import { reportUnexpectedErrors } from './app/unexpected-errors.ts';
import { createKeyring, type Keyring } from './auth/keyring.ts';
import { createMasterKeys, type MasterKeys } from './auth/master-keys.ts';
import {
  createSharedClock,
  describeDeviation,
  type ProcessClock,
  type SharedClock,
  systemClock,
} from './clock.ts';
import type { CallerServices } from './gateway/callers/caller-services.ts';
import type { Gateway } from './gateway/gateway.ts';
import type { SpanExport } from './gateway/logs/span-export.ts';
import { createRefusedBytesReporter } from './http/connections/refused-bytes.ts';
import type { Route } from './http/routes/route.ts';
import type { HttpServer } from './http/server/server.ts';
import type { Scheduler } from './jobs/runner/scheduler.ts';
import { createLog, type Log } from './log.ts';
import type { McpPlane } from './mcp/plane/mcp-plane.ts';
import { packageVersion } from './package-root.ts';
import type { Settings } from './settings.ts';
import type { RunningSnapshot } from './snapshot/open-snapshot.ts';
import { databaseOrigin } from './snapshot/reading/snapshot-origin.ts';
import type { Spool } from './spool/spool.ts';
import type { Database } from './store/connection/db.ts';
import { readServerTime } from './store/connection/server-time.ts';
import { auditTrail } from './store/logs/audit-log.ts';
import { assertUsableSchema } from './store/migrations/migration-state.ts';
import type { ConfigurationSource } from './store/reads/configuration-source.ts';
import { databaseRecords } from './store/records/database-records.ts';
import type { GatewayRecords } from './store/records/gateway-records.ts';
import { readSchemaStatus } from './store/schema-status.ts';
import type { StoredBlobs } from './store/stored-blobs.ts';

export interface AppOverrides {
  readonly clock?: ProcessClock;
  /** Milliseconds since the epoch of the clock that all replicas share; by default the database's. */
  readonly readSharedTime?: () => Promise<number>;
  readonly log?: Log;
  /** Components that `listen()` starts; all by default. */
  readonly components?: readonly Component[];
  /** Replaces the snapshot of the settings. */
  readonly snapshot?: RunningSnapshot;
}

export interface App extends AsyncDisposable {
  /** Version of this program: `0.1.0`. */
  readonly version: string;
  /**
   * Verifies schema and master key against the database. Until then requests receive 503 and no job
   * runs.
   *
   * @throws Failure when the database rejects the connection or does not respond, its schema is not
   * that of this build (`store/migrations/migrate.ts`), or the master key is another one.
   */
  connect(): Promise<void>;
  /**
   * Lets gateways serve from the saved snapshot until the database is connected. Returns false without a usable
   * snapshot, or when the process runs no gateway.
   */
  openFromSnapshot(): Promise<boolean>;
  /** Starts the listeners, and the scheduled jobs once connected; port 0 selects a free port. */
  listen(): Promise<Addresses>;
  /**
   * Makes `/readyz` return 503 and every response close its connection, so that callers move to other
   * replicas; requests are still served. Disposing of the app drains first, and continues after
   * `lameDuckSeconds`, in which load balancers can notice.
   */
  drain(): void;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly jobs: Scheduler;
}

/** Opens the app and connects it. */
export async function createApp(settings: Settings, overrides: AppOverrides = {}): Promise<App> {
  const app = openApp(settings, overrides);
  try {
    await app.connect();
    return app;
  } catch (error) {
    await app[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Listens only after `listen()`, and uses the database only after `connect()`.
 *
 * @throws Failure when a setting is missing.
 */
export function openApp(settings: Settings, overrides: AppOverrides = {}): App {
  const { clock = systemClock, log = createLog({ level: settings.logLevel ?? 'info' }) } =
    overrides;
  if (settings.masterKeys === null) throw missingMasterKey();
  const masterKeys = createMasterKeys(settings.masterKeys);
  const link = openProcessLink(settings, log);
  const database = link?.database ?? openOwnDatabase(settings, log);
  const state = new ProcessState();
  const readTime = link?.readTime ?? (() => readServerTime(database.db));
  const { readSharedTime = readTime } = overrides;
  const sharedClock = createSharedClock(clock, readSharedTime);
  const components = overrides.components ?? allComponents;
  const changes = openChanges({
    database,
    clock: sharedClock,
    isSharedTime: overrides.readSharedTime === undefined && !settings.writerHadr,
  });
  const snapshot =
    overrides.snapshot ??
    openAppSnapshot({
      settings,
      database,
      masterKeys,
      clock: sharedClock,
      log,
      builds: link === null && components.includes('jobs'),
      origin: link?.origin ?? databaseOrigin(database.readable, changes.poll),
      onChangeInForce: link === null ? null : changes.observe,
      isNeeded: link !== null || settings.controlLink.listener !== null,
    });
  const configuration = openConfiguration({ state, database, snapshot, clock: sharedClock }, link);
  const keyring = createKeyring(database, masterKeys, configuration.reads.findDataKey);
  return assemble({
    settings,
    clock: sharedClock,
    log,
    masterKeys,
    keyring,
    database,
    records: link?.records ?? databaseRecords(database, auditTrail(settings.features.auditLogs)),
    state,
    snapshot,
    configuration,
    changes,
    blobs: openBlobs({ settings, database, clock: sharedClock }),
    spanExport: createSpanExport(settings, log),
    spool: createAppSpool({ settings, keyring, log }),
    signIn: createSignIn(settings, log),
    components,
    link,
    prove: async () => {
      assertUsableSchema(await readSchemaStatus(database.db), settings.database?.name ?? '');
      await keyring.open();
      log.info({ tls: database.tls() }, 'connected to the database');
      const deviation = describeDeviation(await sharedClock.measure());
      if (deviation !== null) log.warn(deviation);
    },
  });
}

interface Parts {
  readonly settings: Settings;
  readonly database: Database;
  readonly records: GatewayRecords;
  readonly masterKeys: MasterKeys;
  readonly keyring: Keyring;
  readonly blobs: StoredBlobs;
  readonly clock: SharedClock;
  readonly log: Log;
  /** Null when tracing is off. */
  readonly spanExport: SpanExport | null;
  /** Null when records wait in memory only. */
  readonly spool: Spool | null;
  /** Null when sign-in is off. */
  readonly signIn: ReturnType<typeof createSignIn>;
  readonly components: readonly Component[];
  readonly state: ProcessState;
  /** Null when no snapshot is kept. */
  readonly snapshot: RunningSnapshot | null;
  readonly configuration: ConfigurationSource;
  /** Null in a process with a database. */
  readonly link: ProcessLink | null;
  readonly changes: Changes;
  /** Rejects unless the database matches the settings. */
  readonly prove: () => Promise<void>;
}

function createAppJobs(parts: Parts, metrics: Metrics, { lists }: OutboundClients): Scheduler {
  const { auditKey } = parts.keyring;
  return createJobs({ ...parts, lists, auditKeyOf: auditKey, onRun: metrics.observeJob });
}

function assemble(parts: Parts): App {
  const { settings, database, keyring, state } = parts;
  const requestLog = createRequestLog(parts);
  const controlPlane = linkState(parts);
  const metrics = createMetrics({
    ...parts,
    database: controlPlane === null ? database : (controlPlane.region?.database ?? null),
    controlPlane,
    version: packageVersion(),
    requestLog,
  });
  const probes = createProbes(parts, {
    link: controlPlane,
    isConnected: () => state.isConnected,
    isDraining: () => state.isDraining,
    servesWithoutDatabase: () =>
      servesWithoutDatabase(parts, shared.callers, parts.configuration.hasSnapshot()),
    configurationAgeSeconds: () => shared.callers.configurationAgeSeconds(),
    spoolFault: () => describeSpoolFault(parts.spool),
  });
  const shared = sharedParts(parts, metrics);
  const asking = createOutboundClients({ ...parts, ...shared });
  const listeners = createListeners({ ...parts, requestLog }, shared, probes, asking);
  const { servers, gateway, mcp } = listeners;
  const metricsServer = createMetricsServer(parts, metrics, [...metrics.routes, ...probes]);
  const jobs = createAppJobs(parts, metrics, asking);
  const drain = (): void => {
    state.isDraining = true;
    for (const server of servers) server.drain();
  };
  const work = createProcessWork({
    ...parts,
    ...shared,
    jobs,
    runsGateways: runsGateways(parts),
    runsJobs: runsComponent(parts, 'jobs'),
  });
  return {
    version: packageVersion(),
    database,
    keyring,
    jobs,
    connect: async () => {
      await connect(parts).finally(work.start);
    },
    openFromSnapshot: () => openFromSnapshot(parts),
    listen: async () => {
      await state.loadSnapshot(parts.snapshot);
      const { running } = listeners;
      const addresses = await listenAll(settings, { ...running, metrics: metricsServer });
      state.isListening = true;
      setImmediate(metrics.observeProcess);
      work.start();
      return addresses;
    },
    drain,
    [Symbol.asyncDispose]: async () => {
      drain();
      work[Symbol.dispose]();
      const waitsForCallers = state.isListening && (state.isConnected || state.isLinked);
      const closing = closeServers(parts, servers, waitsForCallers);
      parts.changes.poll.close();
      await Promise.all([closing, jobs.stop(), parts.snapshot?.[Symbol.asyncDispose]()]);
      await Promise.all(
        [gateway, mcp, asking, parts.signIn].map((one) => one?.[Symbol.asyncDispose]()),
      );
      await closeShared(parts, shared, metricsServer);
    },
  };
}

async function connect(parts: Parts): Promise<void> {
  const { link, state, snapshot } = parts;
  if (link !== null && snapshot !== null) return connectLinked({ ...parts, snapshot }, link);
  await parts.prove();
  await parts.spool?.open();
  state.isConnected = true;
}

/** The spool is opened as soon as the keyring is. */
async function openFromSnapshot(parts: Parts): Promise<boolean> {
  const { state, snapshot, spool, keyring, log } = parts;
  if (!runsGateways(parts) || !(await state.openFromSnapshot(snapshot, keyring, log))) return false;
  await spool?.open();
  return true;
}

/** Closes what the listeners have used, the database last. */
async function closeShared(
  { blobs, database, spool, link }: Parts,
  shared: SharedParts,
  metricsServer: Pick<HttpServer, 'close'>,
): Promise<void> {
  await shared.callers[Symbol.asyncDispose]();
  await spool?.[Symbol.asyncDispose]();
  const closing = [metricsServer.close(0), blobs[Symbol.asyncDispose]()];
  await Promise.all([...closing, shared[Symbol.asyncDispose]()]);
  await database[Symbol.asyncDispose]();
  await link?.[Symbol.asyncDispose]();
  shared.unexpectedErrors[Symbol.dispose]();
}

interface Listeners {
  readonly gateway: Gateway;
  readonly mcp: McpPlane;
  /** All listeners of callers. */
  readonly servers: readonly Pick<HttpServer, 'drain' | 'close'>[];
  /** The listeners of components that the process runs. */
  readonly running: Omit<Parameters<typeof listenAll>[1], 'metrics'>;
}

/** Each listener also serves the other's requests, for clients that know only one address. */
function createListeners(
  parts: Parts & Pick<Parameters<typeof createAppGateway>[0], 'requestLog'>,
  shared: SharedParts,
  probes: readonly Route<null>[],
  asking: OutboundClients,
): Listeners {
  const runsGateway = parts.components.includes('gateway');
  const admin = createAdminServer(parts, shared, probes, asking, {
    passOn: runsGateway ? (...both) => gateway.server.takePrompt(...both) : null,
  });
  const gateway = createAppGateway({ ...parts, ...shared, passOn: admin.serve });
  const mcp = createAppMcpPlane({ ...parts, ...shared });
  const link = createAppLinkListener(parts, {
    classifyError,
    observe: shared.metrics.observeRequest,
    onRefusedBytes: createRefusedBytesReporter(
      'link',
      shared.metrics.observeRefusedBytes,
      parts.log,
    ),
    onUnexpectedError: () => shared.metrics.observeUnexpectedError('link'),
  });
  const runs = (component: Component): boolean => runsComponent(parts, component);
  return {
    gateway,
    mcp,
    servers: [admin, gateway.server, mcp.listener, ...(link === null ? [] : [link])],
    running: {
      link: runs('admin') || parts.link !== null ? link : null,
      admin: runs('admin') ? admin : null,
      inference: runs('gateway') ? gateway.server : null,
      mcp: runs('mcp') ? mcp.listener : null,
    },
  };
}

/** Shared by the listeners. */
interface SharedParts extends CountedRows {
  readonly unexpectedErrors: Disposable;
  readonly metrics: Metrics;
  /** Shared by the gateways of models and of MCP. */
  readonly callers: CallerServices;
  /** Throws like an unavailable database until the database is verified. */
  readonly requireConnection: () => void;
}

function sharedParts(parts: Parts, metrics: Metrics): SharedParts {
  const { requireConnection, requireKeys } = parts.state;
  const requireRecords = parts.link === null ? requireConnection : () => undefined;
  const counted = createCountedRows(parts, metrics, requireRecords);
  const unexpectedErrors = reportUnexpectedErrors(metrics, parts.log);
  const callers = createAppCallerServices({ ...parts, requireKeys });
  return { metrics, requireConnection, unexpectedErrors, callers, ...counted };
}
