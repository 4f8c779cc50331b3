/** Assembles the parts of the gateway, and disposes of them in order. */

import type { Keyring } from '../auth/keyring.ts';
import { TextSealer } from '../auth/sealing.ts';
import { Failure } from '../failure.ts';
import { GuardrailModel } from '../guardrails/models/guardrail-model.ts';
import { ModelChecks } from '../guardrails/models/model-checks.ts';
import { RemoteChecks } from '../guardrails/remote/remote-checks.ts';
import { Searches } from '../guardrails/searches.ts';
import type { PolicyTerms } from '../ledger/request-limits.ts';
import type { TargetLimits } from '../model/configs/config-document.ts';
import type { ObjectFamily } from '../objects/object-request.ts';
import { Conversations } from '../objects/responses/conversations.ts';
import { Responses } from '../objects/responses/responses.ts';
import { AssistantObjects } from '../objects/runs/assistant-objects.ts';
import { RunDriverPool } from '../objects/runs/run-driver-pool.ts';
import { SemanticAnswers } from '../objects/semantic/semantic-answers.ts';
import { type VectorFamilies, vectorFamilies } from '../objects/vectors/vector-families.ts';
import type { Database } from '../store/connection/db.ts';
import type { RenderablePrompt } from '../store/reads/prompt-reads.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { CallerServices } from './callers/caller-services.ts';
import { SessionSecrets } from './callers/session-secrets.ts';
import { Breakers } from './calls/breaker.ts';
import type { GatewayServices } from './calls/request-context.ts';
import { ResponseCache } from './calls/response-cache.ts';
import { CheckAccounts } from './guardrails/check-accounts.ts';
import { type CachedGuardrail, Guardrails } from './guardrails/guardrails.ts';
import type { Pipeline } from './inference/pipeline.ts';
import { Prompts } from './inference/prompts.ts';
import { ClientTokens } from './logins/client-tokens.ts';
import { type AzurePod, ownIdentityOf } from './logins/own-identity.ts';
import { type LimitSwitches, Policies } from './metering/limits.ts';
import { storedCallers } from './objects/internal-calls.ts';
import { OwnedObjects } from './objects/owned-objects.ts';
import { SocketAcceptor } from './realtime/accept-socket.ts';
import { LiveHandles } from './realtime/live/live-handles.ts';
import { OpenSessions, type SessionFigures } from './realtime/open-sessions.ts';
import type { RealtimeServices } from './realtime/serve-realtime.ts';
import {
  createInferenceServer,
  type InferenceServer,
  type InferenceServerOptions,
} from './server.ts';
import { type AwsIdentity, AwsSigners } from './signing/aws-signers.ts';
import { TargetStatistics } from './strategies/target-statistics.ts';
import { CallableProviders } from './targets/callable-providers.ts';
import type { GatewayProvider } from './targets/gateway-provider.ts';
import { type ManagedSecretsOptions, managedSecrets } from './targets/managed-secrets.ts';
import { ProviderModels } from './targets/provider-models.ts';
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
      | 'countsAbortedStreams'
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
  /** Shared with other gateways of the process, and disposed of by its owner. */
  readonly callers: CallerServices;
  /** Throws, like an unreachable database, until the connection is proved to lead to the right one. */
  readonly requireConnection: () => void;
  /** False while no run is known to have lost its driver. */
  readonly mayHaveLostRuns: () => boolean;
  readonly unsealerOf: Keyring['unsealerOf'];
  readonly connectionsMax: number;
  readonly onRefusedBytes: InferenceServerOptions['onRefusedBytes'];
  /** Serves a request for the Admin API. */
  readonly passOn: InferenceServerOptions['passOn'];
  readonly configTargets: TargetLimits;
  /** Identity of the gateway at AWS. */
  readonly aws: AwsIdentity;
  /** Identity of the pod at Azure; null for none. */
  readonly azurePod: AzurePod | null;
  /** Host and port of the provider `mock-upstream`; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  readonly blocksInlineConfigs: boolean;
  /** Folder of the model for guardrails; null for none. */
  readonly guardrailModelFolder: string | null;
  readonly runsGuardrails: boolean;
  /** Kinds of limits that are switched on. */
  readonly limitsBy: LimitSwitches;
  readonly realtime: RealtimeOptions;
  /** Returns 32 bytes that seal what callers of realtime sessions hold for the gateway. */
  readonly readRealtimeKey: () => Buffer;
  /** Further prefixes of the gateway's headers, in lower case with a dash at the end. */
  readonly headerAliases: readonly string[];
}

/** Bounds of realtime sessions. */
interface RealtimeOptions {
  readonly sessionsMax: number;
  readonly sessionsOfKeyMax: number;
  readonly sessionMs: number;
  readonly idleMs: number;
  readonly messageBytesMax: number;
}

export interface Gateway extends AsyncDisposable {
  readonly server: InferenceServer;
  /** Figures of realtime sessions. */
  realtimeFigures(): SessionFigures;
}

const configsMax = 10_000;
const providersMax = 10_000;
const guardrailsMax = 10_000;
const organisationsMax = 10_000;
const workspacesMax = 10_000;
const promptsMax = 1_000;
/** Longer handles and secrets of realtime sessions are refused unread. */
const sealedCharsMax = 16_384;

/** The gateway must be disposed after its server has closed. */
export function createGateway(options: GatewayOptions): Gateway {
  const { database, callers } = options;
  const { managers, secrets } = managedSecrets(options);
  const searches = new Searches();
  const model = openModel(options);
  const vectors = vectorsOf(options);
  const { storeSearch: search } = vectors;
  const semanticAnswers = new SemanticAnswers(database);
  const callsOf = storedCallers(() => pipeline);
  const now = () => options.clock.now();
  const { onFault, mayHaveLostRuns: mayHaveLost } = options;
  const drivers = new RunDriverPool({ database, callsOf, search, now, onFault, mayHaveLost });
  const pipeline: Pipeline = {
    ...lookupsOf(options, { searches, secrets, model }),
    origins: callers.origins,
    breakers: new Breakers(),
    targetStatistics: new TargetStatistics(),
    bodyBytesMax: options.bodyBytesMax,
    bodyMemory: new BodyMemory(options.bodiesBytesMax, options.bodyBytesMax),
    jsonBounds: options.jsonBounds,
    fileBytesMax: options.fileBytesMax,
    enforcesLimits: options.enforcesLimits,
    countsAbortedStreams: options.countsAbortedStreams,
    limitsBy: options.limitsBy,
    isUnavailable: options.isUnavailable,
    configurationAgeSeconds: callers.configurationAgeSeconds,
    record: options.record,
    spanExport: options.spanExport,
    onFault,
    onRefused: options.onRefused,
    now,
    ledger: callers.ledger,
    responses: new ResponseCache(),
    semanticAnswers,
    objects: ownedObjectsOf(options, [
      ...vectors.families,
      new AssistantObjects({ database, drivers, search }),
    ]),
    sessionSecrets: new SessionSecrets(sealerOf(options, 'session-secret'), callers.keys),
    headerPrefixes: ['x-gateway-', ...options.headerAliases],
  };
  drivers.start(options.requireConnection);
  const realtime = realtimeOf(options, pipeline);
  return {
    server: createInferenceServer({ ...options, pipeline, realtime }),
    realtimeFigures: () => realtime.sessions.figures(),
    [Symbol.asyncDispose]: async () => {
      await drivers[Symbol.asyncDispose]();
      await semanticAnswers[Symbol.asyncDispose]();
      await vectors[Symbol.asyncDispose]();
      searches[Symbol.dispose]();
      model?.[Symbol.dispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

/** @throws Failure for a folder without a valid manifest */
function openModel({ guardrailModelFolder: folder }: GatewayOptions): GuardrailModel | null {
  try {
    return folder === null ? null : new GuardrailModel(folder);
  } catch (cause) {
    const message = `GATEWRIGHT_GUARDRAIL_MODEL_DIR: ${(cause as Error).message}`;
    throw new Failure('invalidInput', message, { cause });
  }
}

function realtimeOf(options: GatewayOptions, services: Pipeline): RealtimeServices {
  const { realtime, callers } = options;
  const sessions = new OpenSessions(realtime);
  callers.onChange((organisationId) => sessions.noteChange(organisationId));
  const { messageBytesMax } = realtime;
  const acceptor = new SocketAcceptor(messageBytesMax);
  const handles = new LiveHandles(sealerOf(options, 'live-handle'));
  const { sessionSecrets: secrets } = services;
  return { services, sessions, acceptor, handles, secrets, bounds: realtime, messageBytesMax };
}

function sealerOf({ readRealtimeKey: readKey }: GatewayOptions, purpose: string): TextSealer {
  return new TextSealer({ readKey, purpose, sealedCharsMax });
}

/** Shared parts of the look-ups of configs, providers and guardrails. */
interface LookupParts {
  readonly searches: Searches;
  readonly model: GuardrailModel | null;
  readonly secrets: ReturnType<typeof managedSecrets>['secrets'];
}

/** Everything that requests read from the database, cached while it is current. */
function lookupsOf(options: GatewayOptions, { searches, secrets, model }: LookupParts) {
  const { database, trustedHosts, mockUpstreamHost, unsealerOf, callers } = options;
  const { keys, tokens, origins, reads } = callers;
  const providers = new Providers({
    reads,
    unsealerOf,
    cache: callers.cache<GatewayProvider>(providersMax),
    secrets,
  });
  const outbound = new Outbound(origins, trustedHosts);
  const { clock, aws: identity, mayBeItself } = options;
  const signers = new AwsSigners({ outbound, clock, identity, mayBeItself });
  const clientTokens = new ClientTokens({
    outbound,
    clock,
    identity: ownIdentityOf(options, (region) => signers.ownCredentials(region)),
    trusted: trustedHosts,
  });
  const callableProviders = new CallableProviders(
    reads,
    callers.cache<readonly string[]>(workspacesMax),
  );
  const accounts = new CheckAccounts({
    providers,
    callableProviders,
    signers,
    tokens: clientTokens,
    trusted: trustedHosts,
    now: () => clock.now(),
  });
  const policies = callers.cache<readonly PolicyTerms[]>(organisationsMax);
  return {
    keys,
    tokens,
    configs: new Configs({
      reads,
      unsealerOf,
      cache: callers.cache<GatewayConfig | null>(configsMax),
      trusted: trustedHosts,
      limits: options.configTargets,
      blocksInline: options.blocksInlineConfigs,
    }),
    targets: new Targets({
      trusted: trustedHosts,
      providers,
      tokens: clientTokens,
      signers,
      mockUpstreamHost,
    }),
    callableProviders,
    providerModels: new ProviderModels(origins),
    policies: new Policies(reads, policies, options.limitsBy),
    prompts: new Prompts({ database, reads, cache: callers.cache<RenderablePrompt>(promptsMax) }),
    guardrails: new Guardrails({
      reads,
      cache: callers.cache<CachedGuardrail>(guardrailsMax),
      unsealerOf,
      isEnabled: options.runsGuardrails,
      tools: {
        searches,
        outbound,
        sources: [new RemoteChecks({ outbound, accounts }), new ModelChecks(model)],
      },
    }),
  };
}

function ownedObjectsOf(
  { database, clock }: GatewayOptions,
  families: readonly ObjectFamily[],
): OwnedObjects {
  const options = { database, now: () => clock.now() };
  const [responses, conversations] = [new Responses(options), new Conversations(options)];
  return new OwnedObjects({ database, families, responses, conversations });
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
