/** Assembles the MCP gateway, and disposes of its parts in order. */
import type { Socket } from 'node:net';
import type { Keyring } from '../../auth/keyring.ts';
import { authenticate } from '../../gateway/callers/authenticate.ts';
import type { CallerServices } from '../../gateway/callers/caller-services.ts';
import { Policies } from '../../gateway/metering/limits.ts';
import {
  type ManagedSecretsOptions,
  managedSecrets,
} from '../../gateway/targets/managed-secrets.ts';
import { BodyMemory } from '../../gateway/transfer/body-memory.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import type { CheckTools } from '../../guardrails/guardrail.ts';
import { RemoteChecks } from '../../guardrails/remote/remote-checks.ts';
import { Searches } from '../../guardrails/searches.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Database } from '../../store/connection/db.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import { Outbound } from '../../upstream/outbound.ts';
import { reachableAddress } from '../bridge/forward-to-owner.ts';
import { LegacyBridge } from '../bridge/legacy-bridge.ts';
import { LegacySessions } from '../bridge/legacy-session.ts';
import { ModernToLegacy, type ModernToLegacyOptions } from '../bridge/modern-to-legacy.ts';
import { ServerEras, type ServerErasOptions } from '../bridge/server-eras.ts';
import type { ServerConnections } from '../event-transport/call-mcp-server.ts';
import { EventSessions, type EventSessionsOptions } from '../event-transport/event-sessions.ts';
import { ForwardedIdentities } from '../identity/forwarded-identity.ts';
import { KnownNames } from '../names/known-names.ts';
import { ClientSecrets } from '../oauth/client-secrets.ts';
import type { ProvenCaller } from '../oauth/connect-site.ts';
import { LoginCompletion } from '../oauth/login-completion.ts';
import { OAuthClients } from '../oauth/oauth-clients.ts';
import { ServerTokens } from '../oauth/server-tokens.ts';
import { UserConnections, type UserConnectionsOptions } from '../oauth/user-connections.ts';
import { DefinitionChecks } from '../pins/definition-checks.ts';
import { DefinitionRecorder } from '../pins/definition-recorder.ts';
import {
  mcpScope,
  ProtectedResource,
  type ProtectedResourceOptions,
} from '../resource/protected-resource.ts';
import { AnsweredStates } from '../rounds/answered-states.ts';
import { CallStates } from '../rounds/call-states.ts';
import { SessionIds } from '../sessions/session-ids.ts';
import { OpenStreams } from '../streams/open-streams.ts';
import { messageBytesMax } from './deliver.ts';
import { createMcpListener, type McpListener, type McpListenerOptions } from './mcp-listener.ts';
import { McpServers } from './mcp-servers.ts';
import type { PlaneServices } from './plane-services.ts';
import { requireServerUser, requireUsableServer } from './verify-calls.ts';

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
      | 'spanExport'
      | 'observeDropped'
      | 'onRefused'
      | 'onFault'
    >,
    ServerErasOptions {
  readonly database: Pick<Database, 'db' | 'readable' | 'transaction'>;
  readonly records: GatewayRecords;
  readonly keyring: Pick<
    Keyring,
    'sealerOf' | 'unsealerOf' | 'signLink' | 'mcpSessionKey' | 'mcpIdentitySeed'
  >;
  /** Shared with other gateways of the process, and disposed of by its owner. */
  readonly callers: CallerServices;
  /** Bound of the bytes of all request bodies in memory. */
  readonly bodiesBytesMax: number;
  readonly headerAliases: readonly string[];
  /** Host and port of the mock upstream; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  readonly runsGuardrails: boolean;
  readonly resource: Pick<ProtectedResourceOptions, 'publicUrl' | 'authorizationServers'>;
  /** Address at which other replicas reach this one; null for that of the listener. */
  readonly replicaUrl: string | null;
}

export interface McpPlane extends AsyncDisposable {
  readonly listener: McpListener;
}

const serversMax = 10_000;
const organisationsMax = 10_000;

/** The plane must be disposed after its listener has closed. */
export function createMcpPlane(options: McpPlaneOptions): McpPlane {
  const { callers, clock, jsonBounds } = options;
  const { keys, tokens, ledger, origins } = callers;
  const readKey = (): Buffer => options.keyring.mcpSessionKey;
  let ownAddress = '';
  const memory = memoryOf(options);
  const { responseMemory } = memory;
  const address = { origins, readKey, responseMemory, jsonBounds, ownAddress: () => ownAddress };
  const { eventSessions, serverConnections, modernToLegacy } = sessionsOf(address);
  const searches = new Searches();
  const { managers, values } = managedSecrets(options);
  const outbound = new Outbound(origins, options.trustedHosts);
  const lookups = lookupsOf(options, { searches, outbound });
  const definitions = definitionRecorder(options);
  const oauth = oauthOf(options, lookups.servers, outbound, new ClientSecrets(values));
  const services: PlaneServices = {
    keys,
    tokens,
    ...lookups,
    connections: new UserConnections(oauth),
    definitions,
    knownNames: new KnownNames(),
    definitionChecks: new DefinitionChecks({ note: (...seen) => definitions.note(...seen) }),
    ledger,
    serverConnections,
    eventSessions,
    secrets: values,
    identities: identitiesOf(options),
    serverTokens: serverTokensOf(options, oauth),
    sessions: new SessionIds(readKey),
    modernToLegacy,
    callStates: new CallStates(readKey),
    answeredStates: new AnsweredStates(options),
    resource: resourceOf(options, readKey),
    eras: new ServerEras(options),
    streams: openStreams(options),
    bridge: new LegacyBridge(
      new LegacySessions(() => options.keyring.mcpSessionKey),
      options.records,
    ),
    ...memory,
    keepAliveMs: options.keepAliveMs,
    jsonBounds,
    headerPrefixes: ['x-gateway-', ...options.headerAliases],
    hosts: options.hosts,
    enforcesLimits: options.enforcesLimits,
    limitsBy: options.limitsBy,
    now: () => clock.now(),
    isUnavailable: options.isUnavailable,
    record: options.record,
    observe: options.observe,
    spanExport: options.spanExport,
    observeDropped: options.observeDropped,
    onRefused: options.onRefused,
    onFault: options.onFault,
  };
  const onListening = (url: string): void => {
    ownAddress = options.replicaUrl ?? reachableAddress(url);
  };
  return {
    listener: createMcpListener({ ...options, services, onListening }),
    [Symbol.asyncDispose]: async () => {
      await modernToLegacy[Symbol.asyncDispose]();
      eventSessions[Symbol.dispose]();
      searches[Symbol.dispose]();
      await definitions[Symbol.asyncDispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

function identitiesOf({ keyring, resource: { publicUrl } }: McpPlaneOptions): ForwardedIdentities {
  return new ForwardedIdentities({ readSeed: () => keyring.mcpIdentitySeed, publicUrl });
}

function resourceOf(
  { resource, callers: { tokens } }: McpPlaneOptions,
  readKey: () => Buffer,
): ProtectedResource {
  return new ProtectedResource({ ...resource, audience: tokens?.audience ?? null, readKey });
}

function memoryOf({ bodiesBytesMax, bodyBytesMax }: McpPlaneOptions) {
  return {
    bodyMemory: new BodyMemory(bodiesBytesMax, bodyBytesMax),
    responseMemory: new BodyMemory(bodiesBytesMax, messageBytesMax, 'responses of servers'),
    bodyBytesMax,
  };
}

/** Sessions that the gateway keeps open with servers. */
function sessionsOf(
  options: Pick<EventSessionsOptions, 'origins' | 'ownAddress'> &
    Pick<ModernToLegacyOptions, 'readKey'> &
    Pick<ServerConnections, 'responseMemory' | 'jsonBounds'>,
) {
  const eventSessions = new EventSessions(options);
  const { origins, responseMemory, jsonBounds } = options;
  const serverConnections = { origins, events: eventSessions, responseMemory, jsonBounds };
  const modernToLegacy = new ModernToLegacy({ ...options, connections: serverConnections });
  return { eventSessions, serverConnections, modernToLegacy };
}

function openStreams({ callers, clock }: McpPlaneOptions): OpenStreams {
  const streams = new OpenStreams(() => clock.now());
  callers.onChange((organisationId) => streams.noteChange(organisationId));
  callers.addWaiting(() => streams.hasAny);
  return streams;
}

function definitionRecorder({
  records,
  clock,
  isUnavailable,
  onFault,
}: McpPlaneOptions): DefinitionRecorder {
  return new DefinitionRecorder({
    records,
    now: () => clock.now(),
    onFault: (error) => {
      if (!isUnavailable(error)) onFault(error, 'definitions');
    },
  });
}

/** Connections of users; the site on which they connect an account has the rules of calls. */
function oauthOf(
  options: McpPlaneOptions,
  servers: McpServers,
  outbound: Outbound,
  secrets: ClientSecrets,
): UserConnectionsOptions {
  const { clock, database, keyring, trustedHosts: trusted, resource } = options;
  return {
    database,
    keyring,
    secrets,
    requests: { outbound, trusted },
    publicUrl: resource.publicUrl,
    now: () => clock.now(),
    findServer: async (organisationId, slug) =>
      servers.find({ organisationId, workspace: null }, slug),
    prove: (key, slug, { socket }) => proveCaller(options, servers, { key, slug, socket }),
    isUnavailable: options.isUnavailable,
    onFault: (error) => options.onFault(error, newId()),
  };
}

function serverTokensOf(
  { clock, resource }: McpPlaneOptions,
  oauth: UserConnectionsOptions,
): ServerTokens {
  const { outbound } = oauth.requests;
  const clients = new OAuthClients({ ...oauth, addresses: null });
  const completion = new LoginCompletion({ ...oauth, clients });
  return new ServerTokens({ outbound, clock, ...resource, completion });
}

async function proveCaller(
  { callers, clock, onRefused }: McpPlaneOptions,
  servers: McpServers,
  sent: { readonly key: string; readonly slug: string; readonly socket: Socket },
): Promise<ProvenCaller> {
  try {
    const key = await authenticate(callers, { key: sent.key }, clock.now(), mcpScope);
    const server = await servers.find(key, sent.slug);
    requireServerUser(key, server);
    requireUsableServer(server);
    return { key, server };
  } catch (error) {
    const refused = error instanceof GatewayError ? error.refused : null;
    if (refused !== null) onRefused(refused, sent.socket.remoteAddress ?? '');
    throw error;
  }
}

/** Everything that only MCP requests read from the database, cached while it is current. */
function lookupsOf(
  options: McpPlaneOptions,
  { searches, outbound }: Pick<CheckTools, 'searches' | 'outbound'>,
): Pick<PlaneServices, 'policies' | 'servers' | 'configurationAgeSeconds'> {
  const { callers, trustedHosts: trusted, keyring, limitsBy } = options;
  const { reads } = callers;
  return {
    configurationAgeSeconds: callers.configurationAgeSeconds,
    policies: new Policies(reads, callers.cache(organisationsMax), limitsBy, 'mcp_tools'),
    servers: new McpServers({
      reads,
      unsealerOf: (organisationId) => keyring.unsealerOf(organisationId),
      cache: callers.cache(serversMax),
      trusted,
      tools: { searches, outbound, sources: [new RemoteChecks({ outbound, accounts: null })] },
      runsGuardrails: options.runsGuardrails,
      mockUpstreamHost: options.mockUpstreamHost,
    }),
  };
}
