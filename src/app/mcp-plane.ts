/** Creates the MCP gateway from the settings, database, clock, metrics and log of the process. */
import type { Keyring } from '../auth/keyring.ts';
import type { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import type { CallerServices } from '../gateway/callers/caller-services.ts';
import type { RequestLog } from '../gateway/logs/request-log.ts';
import type { SpanExport } from '../gateway/logs/span-export.ts';
import type { Log } from '../log.ts';
import { createMcpPlane, type McpPlane } from '../mcp/plane/mcp-plane.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { GatewayRecords } from '../store/records/gateway-records.ts';
import { listenerEvents } from './caller-services.ts';
import type { CountedRows } from './counted-rows.ts';
import { memoryBytes } from './gateway.ts';
import type { Metrics } from './metrics.ts';

/** Default port. */
const mcpPortDefault = 8788;
/** All request bodies may take this part of the memory. */
const bodiesShare = 1 / 16;

interface McpPlaneParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly records: GatewayRecords;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<
    Metrics,
    | 'observeMcp'
    | 'observeGuardrails'
    | 'observeMcpDropped'
    | 'observeEraProbe'
    | 'observeRefusedBytes'
    | 'observeUnexpectedError'
  >;
  /** Closed by its owner; null when tracing is off. */
  readonly spanExport: SpanExport | null;
  /** Closed by its owner. */
  readonly requestLog: Pick<RequestLog, 'record'>;
  /** Closed by its owner. */
  readonly callers: CallerServices;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}

export function createAppMcpPlane(parts: McpPlaneParts): McpPlane {
  const { settings, database, keyring, clock, metrics, requestLog, callers } = parts;
  const { inference, mcp, trustedHosts } = settings;
  return createMcpPlane({
    database,
    records: parts.records,
    clock,
    keyring,
    callers,
    trustedHosts,
    mockUpstreamHost: inference.mockUpstreamHost,
    isUnavailable,
    connectionsMax: mcp.connectionsMax,
    bodyBytesMax: mcp.bodyBytesMax,
    keepAliveMs: mcp.keepAliveMs,
    bodiesBytesMax: memoryBytes() * bodiesShare,
    jsonBounds: inference.jsonBounds,
    hosts: new Set(mcp.hosts),
    resource: mcp,
    replicaUrl: mcp.replicaUrl,
    headerAliases: inference.headerAliases,
    enforcesLimits: inference.enforcesLimits,
    limitsBy: settings.features,
    runsGuardrails: settings.features.guardrails,
    mayBeItself: inference.signsInAsItself,
    record: (entry) => {
      metrics.observeGuardrails(entry);
      return requestLog.record(entry);
    },
    observe: metrics.observeMcp,
    spanExport: parts.spanExport,
    observeDropped: metrics.observeMcpDropped,
    onProbe: metrics.observeEraProbe,
    ...listenerEvents(parts, 'mcp', 'an MCP request failed'),
  });
}

/** Port 0 for the Admin API selects a free port here too. */
export function mcpPort({ mcp, server }: Pick<Settings, 'mcp' | 'server'>): number {
  return mcp.port ?? (server.port === 0 ? 0 : mcpPortDefault);
}
