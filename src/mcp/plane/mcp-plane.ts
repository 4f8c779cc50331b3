/** Assembles the MCP gateway, and disposes of its parts in order. */
import type { Keyring } from '../../auth/keyring.ts';
import type { Clock } from '../../clock.ts';
import { type GatewayKey, GatewayKeys } from '../../gateway/callers/gateway-key.ts';
import { GatewayTokens, type TokenRules } from '../../gateway/callers/gateway-token.ts';
import { Generations } from '../../gateway/callers/generations.ts';
import { type Issuer, IssuerKeys } from '../../gateway/callers/issuer-keys.ts';
import { IssuerOrigins } from '../../gateway/callers/issuer-origins.ts';
import { SnapshotCache } from '../../gateway/callers/snapshot-cache.ts';
import { Policies } from '../../gateway/metering/limits.ts';
import { SecretValueCache } from '../../gateway/targets/secret-value-cache.ts';
import { BodyMemory } from '../../gateway/transfer/body-memory.ts';
import { Searches } from '../../guardrails/searches.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Proxies } from '../../remote/proxies.ts';
import {
  SecretManagers,
  type SecretManagersOptions,
} from '../../secret-managers/secret-managers.ts';
import type { Database } from '../../store/connection/db.ts';
import * as snapshotMarks from '../../store/rows/snapshot-marks.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { Origins } from '../../upstream/origins.ts';
import { Outbound } from '../../upstream/outbound.ts';
import { createMcpListener, type McpListener, type McpListenerOptions } from './mcp-listener.ts';
import { McpServers } from './mcp-servers.ts';
import { OpenStreams } from './open-streams.ts';
import type { PlaneServices } from './plane-services.ts';
import { SessionIds } from './session-ids.ts';

export interface McpPlaneOptions
  extends Pick<McpListenerOptions, 'connectionsMax' | 'onRefusedBytes'>,
    Pick<
      PlaneServices,
      | 'bodyBytesMax'
      | 'jsonBounds'
      | 'hosts'
      | 'enforcesLimits'
      | 'limitsBy'
      | 'isUnavailable'
      | 'record'
      | 'observe'
      | 'onRefused'
      | 'onFault'
    > {
  readonly database: Pick<Database, 'readable' | 'db' | 'transaction'>;
  readonly clock: Clock;
  readonly keyring: Pick<Keyring, 'unsealerOf' | 'mcpSessionKey'>;
  readonly hashCredential: (value: string) => Buffer;
  /** Throws, like an unreachable database, until the connection is proved to lead to the right one. */
  readonly requireConnection: () => void;
  readonly trustedHosts: TrustedHosts;
  /** Proxies for fetching the keys of issuers; null for none. */
  readonly proxies: Proxies | null;
  /** Issuers whose tokens are accepted in place of keys; null when tokens are not accepted. */
  readonly tokens: {
    readonly issuers: readonly Issuer[];
    readonly rules: TokenRules;
    readonly onKeysFailure: (error: unknown, url: string) => void;
  } | null;
  /** Bound of the bytes of all request bodies in memory. */
  readonly bodiesBytesMax: number;
  readonly headerAliases: readonly string[];
  readonly runsGuardrails: boolean;
  /** How long cached keys and servers are used while the database is unreachable. */
  readonly graceMs: number;
  /** Reports a failed poll for changes. */
  readonly onLookFailure: (error: unknown) => void;
  /** Whether secret managers may be accessed with the identity of the gateway. */
  readonly mayBeItself: boolean;
  readonly onSecretRead: SecretManagersOptions['onRead'];
  readonly onSecretFailure: (error: unknown, referenceId: string) => void;
}

export interface McpPlane extends AsyncDisposable {
  readonly listener: McpListener;
  /** Whether requests of cached keys are served although the database does not respond. */
  readonly servesWithoutDatabase: () => boolean;
}

/** Interval of polling for changes, which every process therefore applies within a second. */
const pollMs = 300;
const keysMax = 100_000;
const serversMax = 10_000;
const organisationsMax = 10_000;
const workspacesMax = 10_000;

/** The plane must be disposed after its listener has closed. */
export function createMcpPlane(options: McpPlaneOptions): McpPlane {
  const { database, clock, trustedHosts: trusted } = options;
  const generations = new Generations({
    load: (ids) => snapshotMarks.listGenerations(database.readable, ids),
    pollMs,
    graceMs: options.graceMs,
    onFailure: options.onLookFailure,
  });
  const origins = new Origins(trusted);
  const issuerOrigins = new IssuerOrigins(origins, options.proxies);
  const searches = new Searches();
  const ledger = createLedger({ database, clock });
  const { mayBeItself: allowsOwnIdentity, onSecretRead: onRead } = options;
  const managers = new SecretManagers({ trusted, clock, allowsOwnIdentity, onRead });
  const services: PlaneServices = {
    ...lookupsOf(options, { generations, origins, issuerOrigins, searches }),
    ledger,
    origins,
    secrets: new SecretValueCache({
      managers,
      clock,
      onFailure: (error, { id }) => options.onSecretFailure(error, id),
    }),
    sessions: new SessionIds(() => options.keyring.mcpSessionKey),
    streams: new OpenStreams(),
    bodyMemory: new BodyMemory(options.bodiesBytesMax, options.bodyBytesMax),
    bodyBytesMax: options.bodyBytesMax,
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
    servesWithoutDatabase: () => generations.isHolding(),
    [Symbol.asyncDispose]: async () => {
      await generations.close();
      await ledger[Symbol.asyncDispose]();
      searches[Symbol.dispose]();
      await issuerOrigins[Symbol.asyncDispose]();
      await origins[Symbol.asyncDispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

interface LookupParts {
  readonly generations: Generations;
  readonly origins: Origins;
  readonly issuerOrigins: IssuerOrigins;
  readonly searches: Searches;
}

/** Everything that requests read from the database, cached while it is current. */
function lookupsOf(
  options: McpPlaneOptions,
  { generations, origins, issuerOrigins, searches }: LookupParts,
): Pick<PlaneServices, 'keys' | 'tokens' | 'policies' | 'servers'> {
  const { database, hashCredential, trustedHosts: trusted, isUnavailable, keyring } = options;
  const cache = <T>(entriesMax: number): SnapshotCache<T> =>
    new SnapshotCache<T>(generations, { entriesMax, isUnavailable });
  const { tokens, requireConnection } = options;
  return {
    keys: new GatewayKeys({ database, hashCredential, cache: cache<GatewayKey>(keysMax) }),
    tokens:
      tokens &&
      new GatewayTokens({
        database,
        requireConnection,
        issuerKeys: new IssuerKeys({
          issuers: tokens.issuers,
          origins: issuerOrigins,
          monotonicMs,
          onFailure: tokens.onKeysFailure,
        }),
        rules: tokens.rules,
        workspaces: cache(workspacesMax),
      }),
    policies: new Policies(database, cache(organisationsMax), options.limitsBy, 'mcp_tools'),
    servers: new McpServers({
      database,
      unsealerOf: (organisationId) => keyring.unsealerOf(organisationId),
      cache: cache(serversMax),
      trusted,
      tools: { searches, outbound: new Outbound(origins, trusted) },
      runsGuardrails: options.runsGuardrails,
    }),
  };
}
