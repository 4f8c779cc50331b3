/** Creates the MCP gateway from the settings, database, clock, metrics and log of the process. */
import type { Keyring } from '../auth/keyring.ts';
import type { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import type { RequestLog } from '../gateway/logs/request-log.ts';
import { createRefusedBytesReporter } from '../http/connections/refused-bytes.ts';
import type { Log } from '../log.ts';
import { createMcpPlane, type McpPlane, type McpPlaneOptions } from '../mcp/plane/mcp-plane.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { CountedRows } from './counted-rows.ts';
import { issuersOf, memoryBytes } from './gateway.ts';
import type { Metrics } from './metrics.ts';

/** Default port. */
const mcpPortDefault = 8788;
const refreshLogIntervalMs = 10_000;
/** All request bodies may take this part of the memory. */
const bodiesShare = 1 / 16;

interface McpPlaneParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'observeMcp' | 'observeRefusedBytes' | 'observeUnexpectedError'>;
  /** Closed by its owner. */
  readonly requestLog: Pick<RequestLog, 'record'>;
  /** Throws like an unavailable database until the database is verified. */
  readonly requireConnection: () => void;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}

export function createAppMcpPlane(parts: McpPlaneParts): McpPlane {
  const { settings, database, keyring, clock, log, metrics, requestLog, requireConnection } = parts;
  const { inference, mcp, trustedHosts, proxies } = settings;
  const { tokens } = inference;
  return createMcpPlane({
    database,
    clock,
    keyring,
    trustedHosts,
    proxies,
    isUnavailable,
    requireConnection,
    connectionsMax: mcp.connectionsMax,
    bodyBytesMax: mcp.bodyBytesMax,
    bodiesBytesMax: memoryBytes() * bodiesShare,
    jsonBounds: inference.jsonBounds,
    hosts: new Set(mcp.hosts),
    headerAliases: inference.headerAliases,
    enforcesLimits: inference.enforcesLimits,
    limitsBy: settings.features,
    runsGuardrails: settings.features.guardrails,
    graceMs: inference.graceSeconds * 1000,
    mayBeItself: inference.signsInAsItself,
    record: (entry) => requestLog.record(entry),
    observe: metrics.observeMcp,
    hashCredential: (value) => {
      requireConnection();
      return keyring.hashCredential(value);
    },
    tokens: tokens && {
      issuers: issuersOf(tokens, trustedHosts),
      rules: tokens,
      onKeysFailure: (err, url) =>
        log.warn({ err, url }, 'the signing keys of tokens could not be fetched'),
    },
    ...observers(parts),
  });
}

type Observers = Pick<
  McpPlaneOptions,
  'onRefusedBytes' | 'onRefused' | 'onSecretRead' | 'onSecretFailure' | 'onFault' | 'onLookFailure'
>;

/** Callbacks that count and log events of the MCP gateway. */
function observers({ metrics, log, refusals, noteSecretRead }: McpPlaneParts): Observers {
  let quietUntilMs = 0;
  return {
    onRefusedBytes: createRefusedBytesReporter('mcp', metrics.observeRefusedBytes, log),
    onRefused: (refused, remoteAddress) =>
      refusals.record(refused, { server: 'mcp', remoteAddress }),
    onSecretRead: (place) => noteSecretRead(place, 'mcp'),
    onSecretFailure: (err, reference) =>
      log.warn({ err, reference }, 'a secret could not be read from its secret manager'),
    onFault: (err, requestId) => {
      metrics.observeUnexpectedError('mcp');
      log.error({ err, requestId }, 'an MCP request failed');
    },
    onLookFailure: (err) => {
      if (performance.now() < quietUntilMs) return;
      quietUntilMs = performance.now() + refreshLogIntervalMs;
      log.warn(
        { err },
        'the MCP gateway cannot check for changes; it continues with its last snapshot',
      );
    },
  };
}

/** Port 0 for the Admin API selects a free port here too. */
export function mcpPort({ mcp, server }: Pick<Settings, 'mcp' | 'server'>): number {
  return mcp.port ?? (server.port === 0 ? 0 : mcpPortDefault);
}
