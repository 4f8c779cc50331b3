/** Creates the listener of the Admin API from the parts of the process. */
import { adminRoutes, browserRoutes, publicRoutes } from '../admin/index.ts';
import { createAccessTokens } from '../auth/access-token.ts';
import { authenticateAdmin, authorise, createAuthCaches } from '../auth/authenticate.ts';
import { createFailureThrottle } from '../auth/failure-throttle.ts';
import type { Keyring } from '../auth/keyring.ts';
import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../clock.ts';
import {
  builtConsoleFolder,
  type ConsoleFiles,
  readConsoleFiles,
} from '../console/console-files.ts';
import { consoleRoutes } from '../console/console-routes.ts';
import { docsPath } from '../console/docs-routes.ts';
import { createRefusedBytesReporter } from '../http/connections/refused-bytes.ts';
import { openApiRoute } from '../http/openapi/openapi.ts';
import type { Route } from '../http/routes/route.ts';
import { defaultHttpLimits, type HttpServerOptions } from '../http/server/http-server-options.ts';
import { createHttpServer, type HttpServer } from '../http/server/server.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { auditTrail } from '../store/logs/audit-log.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { classifyError } from './classify-error.ts';
import { inferenceAddress, mcpAddress } from './client-addresses.ts';
import { type Component, disabledFeatures } from './components.ts';
import type { CountedRows } from './counted-rows.ts';
import type { Metrics } from './metrics.ts';
import type { OutboundClients } from './outbound-clients.ts';
import type { createSignIn } from './sign-in.ts';

interface AdminServerParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  /** Null when there is no identity provider. */
  readonly signIn: ReturnType<typeof createSignIn>;
  /** Null when this process serves no console. */
  readonly consoleFiles: ConsoleFiles | null;
  readonly blobs: StoredBlobs;
}

interface AdminServerServices extends Pick<CountedRows, 'refusals'> {
  readonly metrics: Metrics;
  /** Throws like an unavailable database until the database is verified. */
  readonly requireConnection: () => void;
}

export function createAdminServer(
  { settings, database, keyring, clock, log, signIn, consoleFiles, blobs }: AdminServerParts,
  { metrics, requireConnection, refusals }: AdminServerServices,
  probes: readonly Route<null>[],
  { guardrailTrials, mcp, mcpTokens, outbound }: OutboundClients,
  { passOn }: Pick<HttpServerOptions<Principal>, 'passOn'>,
): HttpServer {
  const tokens = createAccessTokens(keyring);
  const throttle = createFailureThrottle();
  const { apiKeyPrefix, trustedHosts, configTargets } = settings;
  const opensSessions = signIn !== null || settings.server.console === true;
  const sessions = opensSessions ? settings.sessions : null;
  const caches = createAuthCaches();
  const auth = { database, keyring, tokens, throttle, refusals, sessions, ...caches };
  const audit = auditTrail(settings.features.auditLogs);
  const deps = {
    database,
    keyring,
    apiKeyPrefix,
    audit,
    throttle,
    trustedHosts,
    configTargets,
    guardrailTrials,
    mcp,
    mcpTokens,
    inferenceUrl: inferenceAddress(settings),
    mcpUrl: mcpAddress(settings),
    outbound,
    signIn,
    sessions,
    servesConsole: consoleFiles !== null,
    docsPath: consoleFiles?.docs == null ? null : docsPath,
    blobs,
    refusals,
    disabledFeatures: disabledFeatures(settings),
  };
  const routes = adminRoutes(deps, tokens);
  const open = [...probes, ...publicRoutes(deps, requireConnection)];
  return createHttpServer<Principal>({
    routes,
    publicRoutes: [
      ...open,
      ...browserRoutes(deps, requireConnection),
      ...(consoleFiles === null ? [] : consoleRoutes(consoleFiles)),
      openApiRoute(routes, open),
    ],
    authenticate: (offered, accepts, now) => {
      requireConnection();
      return authenticateAdmin(auth, offered, accepts, now);
    },
    authorise,
    callerId: (caller) => caller.id,
    disabledFeatures: deps.disabledFeatures,
    classifyError,
    observe: metrics.observeRequest,
    onRefusedBytes: createRefusedBytesReporter('admin', metrics.observeRefusedBytes, log),
    onUnexpectedError: () => metrics.observeUnexpectedError('admin'),
    now: () => clock.now(),
    log,
    passOn,
    limits: { ...defaultHttpLimits, connectionsMax: settings.server.connectionsMax },
  });
}

/** Null when this process serves no console. @throws Failure when the console is on, but not built */
export function readOwnConsole(
  { server }: Settings,
  components: readonly Component[],
  folder: string = builtConsoleFolder(),
): ConsoleFiles | null {
  return server.console === true && components.includes('admin') ? readConsoleFiles(folder) : null;
}
