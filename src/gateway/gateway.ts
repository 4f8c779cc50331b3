/** Knows how the parts of the gateway are put together, and in which order they end. */
import type { Keyring } from '../auth/keyring.ts';
import { Searches } from '../guardrails/searches.ts';
import { createLedger } from '../ledger/ledger.ts';
import type { PolicyTerms } from '../ledger/limits-of-request.ts';
import type { TargetLimits } from '../model/config-document.ts';
import { monotonicMs } from '../monotonic.ts';
import type { ObjectFamily } from '../objects/object-request.ts';
import { Responses } from '../objects/responses/responses.ts';
import { AssistantObjects } from '../objects/runs/assistant-objects.ts';
import { RunDrivers } from '../objects/runs/run-drivers.ts';
import { type VectorFamilies, vectorFamilies } from '../objects/vectors/vector-families.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { Database } from '../store/connection/db.ts';
import type { KeptBlobs } from '../store/kept-blobs.ts';
import type { PromptToUse } from '../store/tables/prompt-reads.ts';
import * as snapshotMarks from '../store/tables/snapshot-marks.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { Pipeline } from './answering/calling.ts';
import { Prompts } from './answering/prompts.ts';
import { Fresh } from './callers/fresh.ts';
import { type GatewayKey, GatewayKeys } from './callers/gateway-key.ts';
import { GatewayTokens, type Place, type TokenRules } from './callers/gateway-token.ts';
import { Generations } from './callers/generations.ts';
import { type Issuer, IssuerKeys } from './callers/issuer-keys.ts';
import { IssuerOrigins } from './callers/issuer-origins.ts';
import { AnswerCache } from './calls/answer-cache.ts';
import { Breakers } from './calls/breaker.ts';
import { Guardrails, type StoredGuardrail } from './guardrails/guardrails.ts';
import { type LimitSwitches, Policies } from './metering/limits.ts';
import { storedCallers } from './objects/model-callers.ts';
import { OwnObjects } from './objects/own-objects.ts';
import {
  createInferenceServer,
  type InferenceServer,
  type InferenceServerOptions,
} from './server.ts';
import type { GatewayProvider } from './targets/gateway-provider.ts';
import { type ManagedSecretsOptions, managedSecrets } from './targets/managed-secrets.ts';
import { Providers } from './targets/providers.ts';
import { Configs, type GatewayConfig } from './targets/resolve-config.ts';
import { Targets } from './targets/resolve-target.ts';

export interface GatewayOptions
  extends ManagedSecretsOptions,
    Pick<
      Pipeline,
      | 'bodyBytesMax'
      | 'enforcesLimits'
      | 'isUnavailable'
      | 'record'
      | 'spanExport'
      | 'onFault'
      | 'onRefused'
    > {
  readonly database: Pick<Database, 'readable' | 'db' | 'transaction'>;
  /** Where the bytes of files lie. */
  readonly blobs: KeptBlobs;
  /** Of one file of a caller. */
  readonly fileBytesMax: number;
  readonly hashCredential: (value: string) => Buffer;
  /** Throws, as a database that is away does, until it has been proved to be the right one. */
  readonly requireConnection: () => void;
  /** Whose tokens are taken in place of keys; null for nobody's. */
  readonly tokens: {
    readonly issuers: readonly Issuer[];
    readonly rules: TokenRules;
    /** Keys of an issuer that could not be fetched. */
    readonly onKeysFailure: (error: unknown, url: string) => void;
  } | null;
  /** By which keys of issuers are fetched; null for none. */
  readonly proxies: Proxies | null;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly connectionsMax: number;
  readonly onRefusedBytes: InferenceServerOptions['onRefusedBytes'];
  /** Takes a request that is the Admin API's. */
  readonly passOn: InferenceServerOptions['passOn'];
  readonly configTargets: TargetLimits;
  readonly blocksInlineConfigs: boolean;
  readonly runsGuardrails: boolean;
  /** Which limits there are at all. */
  readonly limitsBy: LimitSwitches;
  /** Other beginnings of our headers, in lower case with a dash at the end. */
  readonly headerAliases: readonly string[];
  /** How long cached keys and configs are good while the database is away. */
  readonly graceMs: number;
  /** A look for changes that failed. */
  readonly onLookFailure: (error: unknown) => void;
}

export interface Gateway extends AsyncDisposable {
  readonly server: InferenceServer;
  /** Whether keys that were in use are served although the database does not answer. */
  readonly servesWithoutDatabase: () => boolean;
}

/** Between two looks for changes: a change is noticed within a second by every process. */
const pollMs = 300;
const keysMax = 100_000;
const configsMax = 10_000;
const providersMax = 10_000;
const guardrailsMax = 10_000;
const organisationsMax = 10_000;
const placesMax = 10_000;
const promptsMax = 1_000;

/** Dispose of it when its server has closed. */
export function createGateway(options: GatewayOptions): Gateway {
  const { database, graceMs, trustedHosts, isUnavailable } = options;
  const generations = new Generations({
    load: (ids) => snapshotMarks.listGenerations(database.readable, ids),
    ...{ pollMs, graceMs, onFailure: options.onLookFailure },
  });
  const kept = <T>(entriesMax: number): Fresh<T> =>
    new Fresh<T>(generations, { entriesMax, isUnavailable });
  const keys = kept<GatewayKey>(keysMax);
  const configs = kept<GatewayConfig | null>(configsMax);
  const policies = kept<readonly PolicyTerms[]>(organisationsMax);
  const providers = kept<GatewayProvider>(providersMax);
  const stored = kept<StoredGuardrail>(guardrailsMax);
  const origins = new Origins(trustedHosts);
  const { managers, secrets } = managedSecrets(options);
  const issuerOrigins = new IssuerOrigins(origins, options.proxies);
  const tokens = tokensOf(options, issuerOrigins, kept(placesMax));
  const searches = new Searches();
  const ledger = createLedger({ database, clock: options.clock });
  const { bodyBytesMax, enforcesLimits, limitsBy, record, spanExport, onFault } = options;
  const { hashCredential, unsealerOf, fileBytesMax, onRefused } = options;
  const vectors = vectorsOf(options);
  const { storeSearch: search } = vectors;
  const callsOf = storedCallers(() => pipeline);
  const now = () => options.clock.now();
  const drivers = new RunDrivers({ database, callsOf, search, now, onFault });
  const pipeline: Pipeline = {
    keys: new GatewayKeys({ database, hashCredential, fresh: keys }),
    tokens,
    configs: new Configs({
      ...{ database, fresh: configs, trusted: trustedHosts },
      limits: options.configTargets,
      blocksInline: options.blocksInlineConfigs,
    }),
    targets: new Targets(
      trustedHosts,
      new Providers({ database, unsealerOf, fresh: providers, secrets }),
    ),
    ...{ origins, breakers: new Breakers(), bodyBytesMax, enforcesLimits, limitsBy },
    ...{ isUnavailable, record, spanExport, onFault, onRefused, now, fileBytesMax },
    policies: new Policies(database, policies, limitsBy),
    ledger,
    answers: new AnswerCache(),
    prompts: new Prompts({ database, fresh: kept<PromptToUse>(promptsMax) }),
    guardrails: new Guardrails({
      ...{ database, fresh: stored, isEnabled: options.runsGuardrails },
      tools: { searches, outbound: new Outbound(origins, trustedHosts) },
    }),
    objects: ownObjectsOf(options, [
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

function ownObjectsOf(
  { database, clock }: GatewayOptions,
  families: readonly ObjectFamily[],
): OwnObjects {
  const responses = new Responses({ database, now: () => clock.now() });
  return new OwnObjects({ database, families, responses });
}

function vectorsOf({
  database,
  blobs,
  fileBytesMax,
  clock,
  onFault,
}: GatewayOptions): VectorFamilies {
  return vectorFamilies({
    ...{ database, blobs, fileBytesMax, now: () => clock.now() },
    onFault: (error) => onFault(error, 'a file of a vector store'),
  });
}

function tokensOf(
  { tokens, database, requireConnection }: GatewayOptions,
  origins: IssuerOrigins,
  places: Fresh<Place>,
): GatewayTokens | null {
  if (tokens === null) return null;
  const { issuers, rules, onKeysFailure: onFailure } = tokens;
  const issuerKeys = new IssuerKeys({ issuers, origins, monotonicMs, onFailure });
  return new GatewayTokens({ database, requireConnection, issuerKeys, rules, places });
}
