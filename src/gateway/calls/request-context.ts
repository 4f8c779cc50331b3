/** Defines what is available while a request is served: the services of the gateway, how the request arrived, and what was resolved for it. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RefusedCredential } from '../../auth/refused-credentials.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ConfigNode } from '../../model/configs/config-tree.ts';
import type { PathAction } from '../../model/endpoints/path-action.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import type { SemanticAnswers } from '../../objects/semantic/semantic-answers.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { CallerSources } from '../callers/authenticate.ts';
import type { Exchange, ReadHeader } from '../callers/exchange.ts';
import type { ConfiguredRequests } from '../guardrails/configured-requests.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { SpanExport } from '../logs/span-export.ts';
import type { LimitSwitches, Policies } from '../metering/limits.ts';
import type { TargetStatistics } from '../strategies/target-statistics.ts';
import type { CallableProviders } from '../targets/callable-providers.ts';
import type { ProviderModels } from '../targets/provider-models.ts';
import type { Configs, GatewayConfig } from '../targets/resolve-config.ts';
import type { Targets } from '../targets/resolve-target.ts';
import type { BodyMemory } from '../transfer/body-memory.ts';
import type { Caller } from '../transfer/caller.ts';
import type { GatewayErrorForm } from '../transfer/gateway-error.ts';
import type { Breakers } from './breaker.ts';
import type { ProviderCalls } from './provider-calls.ts';
import type { RecordDraft } from './record-draft.ts';
import type { ResponseCache } from './response-cache.ts';

/** Services that all requests share. */
export interface GatewayServices extends CallerSources {
  readonly configs: Configs;
  readonly policies: Policies;
  readonly ledger: Ledger;
  readonly targets: Targets;
  readonly callableProviders: CallableProviders;
  readonly providerModels: ProviderModels;
  readonly origins: Origins;
  readonly breakers: Breakers;
  readonly targetStatistics: TargetStatistics;
  readonly responses: ResponseCache;
  readonly semanticAnswers: SemanticAnswers;
  readonly guardrails: Guardrails;
  /** Prefixes of the gateway's headers in lower case: its own first, then the aliases. */
  readonly headerPrefixes: readonly string[];
  readonly bodyBytesMax: number;
  /** Bounds all bodies that are in memory at a time. */
  readonly bodyMemory: BodyMemory;
  readonly jsonBounds: JsonBounds;
  /** Bound of one uploaded file, which may exceed `bodyBytesMax`. */
  readonly fileBytesMax: number;
  /** False: limits count usage but reject nothing. */
  readonly enforcesLimits: boolean;
  /** Whether a stream without a usage report is charged for the text that arrived, not for everything granted. */
  readonly countsAbortedStreams: boolean;
  readonly limitsBy: LimitSwitches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly isUnavailable: (error: unknown) => boolean;
  /** Age of the configuration while the database does not respond; null while it does. */
  readonly configurationAgeSeconds: () => number | null;
  readonly record: (entry: RequestRecord) => void;
  /** Reports a rejected credential and the address it came from. */
  readonly onRefused: (refused: RefusedCredential, remoteAddress: string) => void;
  /** Null when no traces are recorded. */
  readonly spanExport: SpanExport | null;
  /** Reports an unexpected error. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** A request whose headers have arrived. */
export interface Arrival {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path below `/v1`, without the query. */
  readonly path: string;
  readonly query: string;
  readonly header: ReadHeader;
  readonly errorForm: GatewayErrorForm;
  /** Set for a request whose path names its model and the kind of its response. */
  readonly action: PathAction | null;
  readonly headerPrefix: string;
  /** Monotonic clock, milliseconds. */
  readonly beganMs: number;
}

/** A request whose body has been read, with what it takes to call a provider for it. */
export class CallContext {
  readonly services: GatewayServices;
  readonly draft: RecordDraft;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly caller: Caller;
  readonly calls: ProviderCalls;
  /** Judgements of the request by guardrails; set when the first guardrail judges it. */
  guardedRequests: ConfiguredRequests | null = null;

  constructor(
    services: GatewayServices,
    draft: RecordDraft,
    exchange: Exchange,
    config: GatewayConfig,
    caller: Caller,
    calls: ProviderCalls,
  ) {
    this.services = services;
    this.draft = draft;
    this.exchange = exchange;
    this.config = config;
    this.caller = caller;
    this.calls = calls;
  }
}

/** A request that arrived over HTTP. */
export class RequestContext extends CallContext {
  readonly arrival: Arrival;

  constructor(
    arrival: Arrival,
    services: GatewayServices,
    draft: RecordDraft,
    exchange: Exchange,
    config: GatewayConfig,
    caller: Caller,
    calls: ProviderCalls,
  ) {
    super(services, draft, exchange, config, caller, calls);
    this.arrival = arrival;
  }

  /** The same request with another exchange, which guardrails judge anew. */
  withExchange(exchange: Exchange): RequestContext {
    const { arrival, services, draft, config, caller, calls } = this;
    return new RequestContext(arrival, services, draft, exchange, config, caller, calls);
  }

  /** The same request with another tree of targets. */
  withTargets(root: ConfigNode): RequestContext {
    const { arrival, services, draft, exchange, caller, calls } = this;
    const config = { ...this.config, root };
    return new RequestContext(arrival, services, draft, exchange, config, caller, calls);
  }
}
