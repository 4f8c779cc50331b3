/** Assembles the parts of the gateway, and disposes of them in order. */

import type { Keyring } from '../auth/keyring.ts';
import { Searches } from '../guardrails/searches.ts';
import { createLedger } from '../ledger/ledger.ts';
import type { PolicyTerms } from '../ledger/request-limits.ts';
import type { TargetLimits } from '../model/configs/config-document.ts';
import { monotonicMs } from '../monotonic.ts';
import type { ObjectFamily } from '../objects/object-request.ts';
import { Responses } from '../objects/responses/responses.ts';
import { AssistantObjects } from '../objects/runs/assistant-objects.ts';
import { RunDriverPool } from '../objects/runs/run-driver-pool.ts';
import { type VectorFamilies, vectorFamilies } from '../objects/vectors/vector-families.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { Database } from '../store/connection/db.ts';
import type { RenderablePrompt } from '../store/reads/prompt-reads.ts';
import * as snapshotMarks from '../store/rows/snapshot-marks.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import { type GatewayKey, GatewayKeys } from './callers/gateway-key.ts';
import { GatewayTokens, type TokenRules, type TokenWorkspace } from './callers/gateway-token.ts';
import { Generations } from './callers/generations.ts';
import { type Issuer, IssuerKeys } from './callers/issuer-keys.ts';
import { IssuerOrigins } from './callers/issuer-origins.ts';
import { SnapshotCache } from './callers/snapshot-cache.ts';
import { Breakers } from './calls/breaker.ts';
import type { GatewayServices } from './calls/request-context.ts';
import { ResponseCache } from './calls/response-cache.ts';
import { type CachedGuardrail, Guardrails } from './guardrails/guardrails.ts';
import type { Pipeline } from './inference/pipeline.ts';
import { Prompts } from './inference/prompts.ts';
import { type LimitSwitches, Policies } from './metering/limits.ts';
import { storedCallers } from './objects/internal-calls.ts';
import { OwnedObjects } from './objects/owned-objects.ts';
import {
  createInferenceServer,
  type InferenceServer,
  type InferenceServerOptions,
} from './server.ts';
import { ClientTokens } from './targets/client-tokens.ts';
import type { GatewayProvider } from './targets/gateway-provider.ts';
import { type ManagedSecretsOptions, managedSecrets } from './targets/managed-secrets.ts';
import { Providers } from './targets/providers.ts';
import { Configs, type GatewayConfig } from './targets/resolve-config.ts';
import { Targets } from './targets/resolve-target.ts';
import { BodyMemory } from './transfer/body-memory.ts';

export interface GatewayOptions
  extends ManagedSecretsOptions,
    Pick<
      GatewayServices,
      | 'bodyBytesMax'
      | 'jsonBounds'
      | 'enforcesLimits'
      | 'isUnavailable'
      | 'record'
      | 'spanExport'
      | 'onFault'
      | 'onRefused'
    > {
  /** Bound of the bytes of all request bodies in memory. */
  readonly bodiesBytesMax: number;
  readonly database: Pick<Database, 'readable' | 'db' | 'transaction'>;
  /** Storage of file contents. */
  readonly blobs: StoredBlobs;
  /** Bound of one uploaded file. */
  readonly fileBytesMax: number;
  readonly hashCredential: (value: string) => Buffer;
  /** Throws, like an unreachable database, until the connection is proved to lead to the right one. */
  readonly requireConnection: () => void;
  /** Issuers whose tokens are accepted in place of keys; null when tokens are not accepted. */
  readonly tokens: {
    readonly issuers: readonly Issuer[];
    readonly rules: TokenRules;
    /** Reports signing keys of an issuer that could not be fetched. */
    readonly onKeysFailure: (error: unknown, url: string) => void;
  } | null;
  /** Proxies for fetching the keys of issuers; null for none. */
  readonly proxies: Proxies | null;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly connectionsMax: number;
  readonly onRefusedBytes: InferenceServerOptions['onRefusedBytes'];
  /** Serves a request for the Admin API. */
  readonly passOn: InferenceServerOptions['passOn'];
  readonly configTargets: TargetLimits;
  /** Host and port of the provider `mock-upstream`; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  readonly blocksInlineConfigs: boolean;
  readonly runsGuardrails: boolean;
  /** Kinds of limits that are switched on. */
  readonly limitsBy: LimitSwitches;
  /** Further prefixes of the gateway's headers, in lower case with a dash at the end. */
  readonly headerAliases: readonly string[];
  /** How long cached keys and configs are used while the database is unreachable. */
  readonly graceMs: number;
  /** Reports a failed poll for changes. */
  readonly onLookFailure: (error: unknown) => void;
}

export interface Gateway extends AsyncDisposable {
  readonly server: InferenceServer;
  /** Whether requests with cached keys are served although the database does not respond. */
  readonly servesWithoutDatabase: () => boolean;
}

/** Interval of polling for changes, which every process therefore applies within a second. */
const pollMs = 300;
const keysMax = 100_000;
const configsMax = 10_000;
const providersMax = 10_000;
const guardrailsMax = 10_000;
const organisationsMax = 10_000;
const workspacesMax = 10_000;
const promptsMax = 1_000;

/** The gateway must be disposed after its server has closed. */
export function createGateway(options: GatewayOptions): Gateway {
  const { database, graceMs, trustedHosts } = options;
  const generations = new Generations({
    load: (ids) => snapshotMarks.listGenerations(database.readable, ids),
    pollMs,
    graceMs,
    onFailure: options.onLookFailure,
  });
  const origins = new Origins(trustedHosts);
  const { managers, secrets } = managedSecrets(options);
  const issuerOrigins = new IssuerOrigins(origins, options.proxies);
  const searches = new Searches();
  const ledger = createLedger({ database, clock: options.clock });
  const vectors = vectorsOf(options);
  const { storeSearch: search } = vectors;
  const callsOf = storedCallers(() => pipeline);
  const now = () => options.clock.now();
  const { onFault } = options;
  const drivers = new RunDriverPool({ database, callsOf, search, now, onFault });
  const pipeline: Pipeline = {
    ...lookupsOf(options, { generations, origins, issuerOrigins, searches, secrets }),
    origins,
    breakers: new Breakers(),
    bodyBytesMax: options.bodyBytesMax,
    bodyMemory: new BodyMemory(options.bodiesBytesMax, options.bodyBytesMax),
    jsonBounds: options.jsonBounds,
    fileBytesMax: options.fileBytesMax,
    enforcesLimits: options.enforcesLimits,
    limitsBy: options.limitsBy,
    isUnavailable: options.isUnavailable,
    record: options.record,
    spanExport: options.spanExport,
    onFault,
    onRefused: options.onRefused,
    now,
    ledger,
    responses: new ResponseCache(),
    objects: ownedObjectsOf(options, [
      ...vectors.families,
      new AssistantObjects({ database, drivers, search }),
    ]),
    headerPrefixes: ['x-gateway-', ...options.headerAliases],
  };
  drivers.start(options.requireConnection);
  return {
    server: createInferenceServer({ ...options, pipeline }),
    servesWithoutDatabase: () => generations.isHolding(),
    [Symbol.asyncDispose]: async () => {
      await drivers[Symbol.asyncDispose]();
      await vectors[Symbol.asyncDispose]();
      await generations.close();
      await ledger[Symbol.asyncDispose]();
      searches[Symbol.dispose]();
      await issuerOrigins[Symbol.asyncDispose]();
      await origins[Symbol.asyncDispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

/** Shared parts of the look-ups of keys, configs, providers and guardrails. */
interface LookupParts {
  readonly generations: Generations;
  readonly origins: Origins;
  readonly issuerOrigins: IssuerOrigins;
  readonly searches: Searches;
  readonly secrets: ReturnType<typeof managedSecrets>['secrets'];
}

/** Everything that requests read from the database, cached while it is current. */
function lookupsOf(
  options: GatewayOptions,
  { generations, origins, issuerOrigins, searches, secrets }: LookupParts,
) {
  const { database, trustedHosts, mockUpstreamHost, hashCredential, unsealerOf, isUnavailable } =
    options;
  const cache = <T>(entriesMax: number): SnapshotCache<T> =>
    new SnapshotCache<T>(generations, { entriesMax, isUnavailable });
  const providers = new Providers({
    database,
    unsealerOf,
    cache: cache<GatewayProvider>(providersMax),
    secrets,
  });
  const outbound = new Outbound(origins, trustedHosts);
  const clientTokens = new ClientTokens({ outbound, clock: options.clock });
  const policies = cache<readonly PolicyTerms[]>(organisationsMax);
  return {
    keys: new GatewayKeys({ database, hashCredential, cache: cache<GatewayKey>(keysMax) }),
    tokens: tokensOf(options, issuerOrigins, cache(workspacesMax)),
    configs: new Configs({
      database,
      unsealerOf,
      cache: cache<GatewayConfig | null>(configsMax),
      trusted: trustedHosts,
      limits: options.configTargets,
      blocksInline: options.blocksInlineConfigs,
    }),
    targets: new Targets({
      trusted: trustedHosts,
      providers,
      tokens: clientTokens,
      mockUpstreamHost,
    }),
    policies: new Policies(database, policies, options.limitsBy),
    prompts: new Prompts({ database, cache: cache<RenderablePrompt>(promptsMax) }),
    guardrails: new Guardrails({
      database,
      cache: cache<CachedGuardrail>(guardrailsMax),
      isEnabled: options.runsGuardrails,
      tools: { searches, outbound },
    }),
  };
}

function ownedObjectsOf(
  { database, clock }: GatewayOptions,
  families: readonly ObjectFamily[],
): OwnedObjects {
  const responses = new Responses({ database, now: () => clock.now() });
  return new OwnedObjects({ database, families, responses });
}

function vectorsOf({
  database,
  blobs,
  fileBytesMax,
  clock,
  onFault,
}: GatewayOptions): VectorFamilies {
  return vectorFamilies({
    database,
    blobs,
    fileBytesMax,
    now: () => clock.now(),
    onFault: (error) => onFault(error, 'a file of a vector store'),
  });
}

function tokensOf(
  { tokens, database, requireConnection }: GatewayOptions,
  origins: IssuerOrigins,
  workspaces: SnapshotCache<TokenWorkspace>,
): GatewayTokens | null {
  if (tokens === null) return null;
  const { issuers, rules, onKeysFailure: onFailure } = tokens;
  const issuerKeys = new IssuerKeys({ issuers, origins, monotonicMs, onFailure });
  return new GatewayTokens({ database, requireConnection, issuerKeys, rules, workspaces });
}
