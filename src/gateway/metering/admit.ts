/** Admits a call under its limits, bounds its output to what was granted, and computes lost usage. */
import type { Grant } from '../../ledger/account.ts';
import type { Account } from '../../ledger/ledger.ts';
import {
  type Limit,
  LimitReached,
  LimitsUnknown,
  PriceUnknown,
  type UsageBound,
} from '../../ledger/limit.ts';
import type { MeteringName } from '../../model/endpoints/metering.ts';
import { priceOfBound } from '../../model/pricing/bound-price.ts';
import { effectivePrice } from '../../model/pricing/effective-price.ts';
import { type PriceOrigin, priceOrigin } from '../../model/pricing/price-origin.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import type { UsageDetails } from '../../model/pricing/priced-details.ts';
import type { Price, TokenUsage } from '../../model/pricing/pricing.ts';
import { servicesWithoutStreamOptions } from '../../model/services/provider-addresses.ts';
import { monotonicMs } from '../../monotonic.ts';
import { run } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { changeBody, isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { AdmittedBatch } from './batch-bound.ts';
import { boundOf, meteringOf, outputClamps, unboundedParam } from './bound.ts';
import { modelLimitIn } from './converse-input.ts';
import { limitMessage } from './limit-message.ts';
import { type BoundDetails, boundDetails, toolClamps } from './requested-details.ts';

/** An admitted call and what it was granted. */
export interface Admission {
  readonly target: ResolvedTarget;
  readonly bound: UsageBound;
  /** Source and version of the price; null when it is unknown. */
  readonly priceOrigin: PriceOrigin | null;
  /** Null for a request that is no batch, or no limit counts. */
  readonly batch: AdmittedBatch | null;
  /** Units and tiers that the request may use beside plain tokens; null for none. */
  readonly details: BoundDetails | null;
  /** Monotonic clock, milliseconds. */
  readonly admittedMs: number;
  /** Granted output tokens. */
  readonly outputTokens: number;
  /** Whether a limit counts its tokens or cost. */
  readonly isCounted: boolean;
  /** Whether only the gateway requested the usage event, which is then removed from the stream. */
  readonly removesUsage: boolean;
}

export interface AdmissionRequest {
  readonly account: Account;
  readonly target: ResolvedTarget;
  readonly limits: readonly Limit[];
  readonly exchange: Exchange;
  /** The bound of a batch that limits count; null for any other request. */
  readonly batch: AdmittedBatch | null;
}

/**
 * Synchronous when the price is loaded, the slices suffice, and a changed body is not long.
 *
 * @throws GatewayError when a limit is reached, or when limits or prices are unknown
 */
export function admit(request: AdmissionRequest): Admission | Promise<Admission> {
  const { service, model } = request.target.pricing;
  const price = lookUpPrice(service, model, request.exchange.now);
  return price instanceof Promise
    ? price.then((loaded) => admitAt(loaded, request))
    : admitAt(price, request);
}

function admitAt(
  listPrice: Price | null,
  { account, target, limits, exchange, batch }: AdmissionRequest,
): Admission | Promise<Admission> {
  const { params, metering } = target;
  const isMeteredCall = meteringOf(metering) !== null;
  const terms = batch === null ? boundOfCall(target, listPrice) : boundOfBatch(batch);
  const { bound, details } = terms;
  const counted =
    metering === 'nothing' ? limits.filter(({ type }) => type === 'requests') : limits;
  const isCounted = counted.some(({ type }) => type !== 'requests');
  if (isCounted && isMeteredCall) requireBound(metering, params);
  const isHard = counted.some((limit) => limit.isHard);
  if (metering === 'unbounded') requireNoHardLimit(counted);
  const admitted = ({ outputTokens }: Grant): Admission | Promise<Admission> => {
    const plain = {
      target,
      bound,
      priceOrigin: terms.priceOrigin,
      details,
      batch,
      admittedMs: monotonicMs(),
      outputTokens,
      isCounted,
      removesUsage: false,
    };
    return isCounted && isMeteredCall ? bounded(plain, exchange, isHard) : plain;
  };
  const refuse = (thrown: unknown): never => {
    throw limitRefusalOf(thrown, exchange.now);
  };
  let grant: Grant | Promise<Grant>;
  try {
    grant = account.admit(counted, bound);
  } catch (thrown) {
    return refuse(thrown);
  }
  return grant instanceof Promise ? grant.then(admitted, refuse) : admitted(grant);
}

type CallBound = Pick<Admission, 'bound' | 'priceOrigin' | 'details'>;

function boundOfCall(
  { params, pricing, metering, call }: ResolvedTarget,
  listPrice: Price | null,
): CallBound {
  const price = effectivePrice(pricing, listPrice);
  const { body, streamed } = call;
  const bytes = body?.length ?? 0;
  const bytesOrUnknown = streamed === undefined ? bytes : null;
  const details = boundDetails(metering, params, streamed?.bytes ?? bytesOrUnknown, price);
  const bound = withDetails(boundOf(metering, params, bytes, price, pricing.model), details);
  const origin = price === null ? null : priceOrigin(pricing, listPrice !== null);
  return { bound, details, priceOrigin: origin };
}

function boundOfBatch({ bound, priceOrigin: origin }: AdmittedBatch): CallBound {
  return { bound, details: null, priceOrigin: origin };
}

/** Rejects a request whose usage could exceed a limit of tokens or cost by any amount. */
function requireNoHardLimit(limits: readonly Limit[]): void {
  const limit = limits.find(({ type, isHard }) => isHard && type !== 'requests');
  if (limit === undefined) return;
  const message = `${capital(limit.label)} limits ${limit.type}, and the usage of this endpoint cannot be bounded; use a key without such a limit`;
  throw new GatewayError('usage_unbounded', message);
}

/** Rejects values that a provider might accept as a number although they are none here. */
function requireBound(endpoint: MeteringName, params: ResolvedTarget['params']): void {
  const raised = endpoint === 'converse' ? modelLimitIn(params) : null;
  if (raised !== null) {
    const message = `${raised} may raise the output beyond a limit; use inferenceConfig.maxTokens`;
    throw new GatewayError('usage_unbounded', message, raised);
  }
  if (endpoint === 'interactions' && params.background === true) {
    const message =
      'The usage of an interaction in the background is known to nobody who waits for it; leave background out';
    throw new GatewayError('usage_unbounded', message, 'background');
  }
  const name = unboundedParam(endpoint, params);
  if (name === null) return;
  throw new GatewayError('invalid_request', `${name} must be a whole number`, name);
}

/** Translates an error of the ledger for callers; returns any other error unchanged. */
export function limitRefusalOf(thrown: unknown, now: number): unknown {
  const cause = { cause: thrown };
  if (thrown instanceof LimitReached) {
    const { isRate, endsAt } = thrown.limit;
    const message = limitMessage(thrown);
    if (!isRate) return new GatewayError('usage_limit_exceeded', message, null, cause);
    const retryAfterMs = endsAt === null ? null : Math.max(1, endsAt - now);
    return new GatewayError('rate_limit_exceeded', message, null, { ...cause, retryAfterMs });
  }
  if (thrown instanceof PriceUnknown) {
    return new GatewayError('price_unknown', capital(thrown.message), 'model', cause);
  }
  if (thrown instanceof LimitsUnknown) {
    const hint = thrown.hint === null ? '' : ` (${thrown.hint})`;
    const message = `The limits of this request are temporarily unavailable; try again${hint}`;
    return new GatewayError('unavailable', message, null, cause);
  }
  return thrown;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Changes the body as the limits need it: bounds the output under hard limits, and requests the usage event. */
function bounded(
  admission: Admission,
  { isJson }: Exchange,
  isHard: boolean,
): Admission | Promise<Admission> {
  const { target, outputTokens } = admission;
  const { endpoint, params, metering } = target;
  const { body } = target.call;
  if (body === null || !isJson) return admission;
  const changes = new Map<string, unknown>();
  const { service } = target.pricing;
  const clamps = isHard ? outputClamps(metering, params, outputTokens, service) : [];
  for (const [name, value] of clamps) changes.set(name, value);
  if (isHard) {
    const calls = toolClamps(endpoint, params, admission.details);
    for (const [name, value] of calls) changes.set(name, value);
  }
  const requestsUsage =
    !servicesWithoutStreamOptions.has(service) && needsUsageEvent(endpoint, params);
  if (requestsUsage) {
    const options = typeof params.stream_options === 'object' ? params.stream_options : null;
    changes.set('stream_options', { ...options, include_usage: true });
  }
  if (changes.size === 0) return admission;
  const withBody = (changed: Buffer): Admission => {
    const call = { ...target.call, body: changed };
    return { ...admission, target: { ...target, call }, removesUsage: requestsUsage };
  };
  const changing = run(changeBody(body, changes), isLong(body));
  return changing instanceof Promise ? changing.then(withBody) : withBody(changing);
}

/** In OpenAI's format a stream reports usage only on request. */
function needsUsageEvent(endpoint: string, params: ResolvedTarget['params']): boolean {
  if (endpoint !== 'chat_completions' && endpoint !== 'completions') return false;
  if (params.stream !== true) return false;
  const options = params.stream_options as { readonly include_usage?: unknown } | undefined | null;
  return options?.include_usage !== true;
}

/** Usage of a call without a response: everything granted under a limit, else the likely input. */
export function lostUsage(admission: Admission): TokenUsage {
  const { bound, isCounted, target } = admission;
  if (target.metering === 'nothing') return noTokens;
  if (target.metering === 'batches' && admission.batch === null) return noTokens;
  const inputTokens = bound.likelyInputTokens;
  return isCounted
    ? grantedUsage(admission)
    : { ...grantedUsage(admission), inputTokens, outputTokens: 0 };
}

export const noTokens: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
};

/** Everything that was granted, for a call of unknown usage. */
export function grantedUsage({ bound, outputTokens, details }: Admission): TokenUsage {
  const { inputTokens } = bound;
  const tokens = { inputTokens, outputTokens, cachedInputTokens: 0, cacheWriteTokens: 0 };
  return details === null ? tokens : { ...tokens, details: grantedDetails(details, bound) };
}

/** A tier below the usual one is not certain, so its factor does not apply. */
export function grantedDetails(
  { units, tiers }: BoundDetails,
  { price }: Pick<UsageBound, 'price'>,
): UsageDetails {
  const isDear = (tier: string): boolean => {
    const factor = price?.factors?.[tier];
    return factor !== undefined && factor.times > factor.per;
  };
  return { units, tiers: tiers.filter(isDear) };
}

/** Adds the price that bounds a request with other units or tiers. */
function withDetails(bound: UsageBound, details: BoundDetails | null): UsageBound {
  const { price } = bound;
  if (details === null || price === null) return bound;
  return { ...bound, boundPrice: priceOfBound(price, details) };
}
