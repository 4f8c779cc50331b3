/** Assembles the MCP gateway, and disposes of its parts in order. */
import type { Keyring } from '../../auth/keyring.ts';
import type { CallerServices } from '../../gateway/callers/caller-services.ts';
import { Policies } from '../../gateway/metering/limits.ts';
import {
  type ManagedSecretsOptions,
  managedSecrets,
} from '../../gateway/targets/managed-secrets.ts';
import { BodyMemory } from '../../gateway/transfer/body-memory.ts';
import type { CheckTools } from '../../guardrails/guardrail.ts';
import { Searches } from '../../guardrails/searches.ts';
import type { Database } from '../../store/connection/db.ts';
import type { AuditTrail } from '../../store/logs/audit-log.ts';
import { Outbound } from '../../upstream/outbound.ts';
import { ServerEras, type ServerErasOptions } from '../bridge/server-eras.ts';
import { ServerTokens } from '../oauth/server-tokens.ts';
import { DefinitionChecks } from '../pins/definition-checks.ts';
import { DefinitionRecorder } from '../pins/definition-recorder.ts';
import {
  ProtectedResource,
  type ProtectedResourceOptions,
} from '../resource/protected-resource.ts';
import { OpenStreams } from '../streams/open-streams.ts';
import { createMcpListener, type McpListener, type McpListenerOptions } from './mcp-listener.ts';
import { McpServers } from './mcp-servers.ts';
import type { PlaneServices } from './plane-services.ts';
import { SessionIds } from './session-ids.ts';

export interface McpPlaneOptions
  extends ManagedSecretsOptions,
    Pick<McpListenerOptions, 'connectionsMax' | 'onRefusedBytes'>,
    Pick<
      PlaneServices,
      | 'bodyBytesMax'
      | 'keepAliveMs'
      | 'jsonBounds'
      | 'hosts'
      | 'enforcesLimits'
      | 'limitsBy'
      | 'isUnavailable'
      | 'record'
      | 'observe'
      | 'onRefused'
      | 'onFault'
    >,
    ServerErasOptions {
  readonly database: Pick<Database, 'readable' | 'transaction'>;
  readonly audit: AuditTrail;
  readonly keyring: Pick<Keyring, 'unsealerOf' | 'mcpSessionKey'>;
  /** Shared with other gateways of the process, and disposed of by its owner. */
  readonly callers: CallerServices;
  /** Bound of the bytes of all request bodies in memory. */
  readonly bodiesBytesMax: number;
  readonly headerAliases: readonly string[];
  /** Host and port of the mock upstream; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  readonly runsGuardrails: boolean;
  readonly resource: Pick<ProtectedResourceOptions, 'publicUrl' | 'authorizationServers'>;
}

export interface McpPlane extends AsyncDisposable {
  readonly listener: McpListener;
}

const serversMax = 10_000;
const organisationsMax = 10_000;

/** The plane must be disposed after its listener has closed. */
export function createMcpPlane(options: McpPlaneOptions): McpPlane {
  const { callers, clock } = options;
  const { keys, tokens, ledger, origins } = callers;
  const searches = new Searches();
  const { managers, values } = managedSecrets(options);
  const outbound = new Outbound(origins, options.trustedHosts);
  const definitions = definitionRecorder(options);
  const services: PlaneServices = {
    keys,
    tokens,
    ...lookupsOf(options, { searches, outbound }),
    definitions,
    definitionChecks: new DefinitionChecks({ note: (...seen) => definitions.note(...seen) }),
    ledger,
    origins,
    secrets: values,
    serverTokens: new ServerTokens({ outbound, clock, ...options.resource }),
    sessions: new SessionIds(() => options.keyring.mcpSessionKey),
    resource: new ProtectedResource({ ...options.resource, audience: tokens?.audience ?? null }),
    eras: new ServerEras(options),
    streams: openStreams(options),
    bodyMemory: new BodyMemory(options.bodiesBytesMax, options.bodyBytesMax),
    bodyBytesMax: options.bodyBytesMax,
    keepAliveMs: options.keepAliveMs,
    jsonBounds: options.jsonBounds,
    headerPrefixes: ['x-gateway-', ...options.headerAliases],
    hosts: options.hosts,
    enforcesLimits: options.enforcesLimits,
    limitsBy: options.limitsBy,
    now: () => clock.now(),
    isUnavailable: options.isUnavailable,
    record: options.record,
    observe: options.observe,
    onRefused: options.onRefused,
    onFault: options.onFault,
  };
  return {
    listener: createMcpListener({ ...options, services }),
    [Symbol.asyncDispose]: async () => {
      searches[Symbol.dispose]();
      await definitions[Symbol.asyncDispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

function openStreams({ callers, clock }: McpPlaneOptions): OpenStreams {
  const streams = new OpenStreams(() => clock.now());
  callers.onChange((organisationId) => streams.noteChange(organisationId));
  return streams;
}

function definitionRecorder(options: McpPlaneOptions): DefinitionRecorder {
  const { database, audit, clock, isUnavailable, onFault } = options;
  return new DefinitionRecorder({
    database,
    audit,
    now: () => clock.now(),
    onFault: (error) => {
      if (!isUnavailable(error)) onFault(error, 'definitions');
    },
  });
}

/** Everything that only MCP requests read from the database, cached while it is current. */
function lookupsOf(
  options: McpPlaneOptions,
  tools: CheckTools,
): Pick<PlaneServices, 'policies' | 'servers'> {
  const { database, callers, trustedHosts: trusted, keyring, limitsBy } = options;
  return {
    policies: new Policies(database, callers.cache(organisationsMax), limitsBy, 'mcp_tools'),
    servers: new McpServers({
      database,
      unsealerOf: (organisationId) => keyring.unsealerOf(organisationId),
      cache: callers.cache(serversMax),
      trusted,
      tools,
      runsGuardrails: options.runsGuardrails,
      mockUpstreamHost: options.mockUpstreamHost,
    }),
  };
}
