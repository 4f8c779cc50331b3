/** Bounds the usage of a batch: the sum of the bounds of its requests, which must all be bounded. */
import { isDeepStrictEqual } from 'node:util';
import type { UsageBound } from '../../ledger/limit.ts';
import { endpointAt, meteringAt } from '../../model/endpoints/catalogue.ts';
import { isObject } from '../../model/json/read-object.ts';
import { priceOfBound } from '../../model/pricing/bound-price.ts';
import { effectivePrice } from '../../model/pricing/effective-price.ts';
import { type PriceOrigin, priceOrigin } from '../../model/pricing/price-origin.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import { costUnitsMax, type Price } from '../../model/pricing/pricing.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { boundOf, meteringOf, outputClamps, unboundedParam } from './bound.ts';
import { boundDetails } from './requested-details.ts';

type Params = Readonly<Record<string, unknown>>;

/** One request of a batch. */
export interface BatchedRequest {
  /** Path below `/v1`. */
  readonly path: string;
  readonly params: Params;
  readonly bytes: number;
}

/** The bound of a batch, and the price at which its results are charged. */
export interface AdmittedBatch {
  readonly bound: UsageBound;
  readonly price: Price | null;
  readonly priceOrigin: PriceOrigin | null;
}

type PricedTarget = Pick<ResolvedTarget, 'pricing' | 'workspaceProvider'>;

const picoPerMicro = 1_000_000;
/** Larger costs have no exact number of pico-dollars. */
const costUnitsMost = Math.floor(Number.MAX_SAFE_INTEGER / picoPerMicro);
const free = { cachedInputPico: null, cacheWritePico: null, cacheWriteHourPico: null, tiers: [] };

/** @throws GatewayError for a batch that cannot be bounded */
export async function boundBatch(
  requests: AsyncIterable<BatchedRequest>,
  target: PricedTarget,
  now: number,
): Promise<AdmittedBatch> {
  let model: string | null = null;
  let priced: Pick<AdmittedBatch, 'price' | 'priceOrigin'> = { price: null, priceOrigin: null };
  const sums = { inputTokens: 0, likelyInputTokens: 0, outputTokens: 0, costUnits: 0 };
  let number = 0;
  for await (const request of requests) {
    number += 1;
    const named = requireModel(request, number, model);
    if (model === null) priced = await priceOf(target, named, now);
    model = named;
    const bound = boundOfRequest(request, number, named, priced.price);
    sums.inputTokens += bound.inputTokens;
    sums.likelyInputTokens += bound.likelyInputTokens;
    sums.outputTokens += bound.outputTokens;
    sums.costUnits += bound.costUnits;
  }
  if (number === 0) throw unbounded('it has no requests');
  if (sums.costUnits > costUnitsMost) {
    throw unbounded(`it may cost more than ${costUnitsMost / picoPerMicro} dollars; divide it`);
  }
  const { costUnits, ...tokens } = sums;
  const requestPico = costUnits * picoPerMicro;
  const price = priced.price && { ...free, inputPico: 0, outputPico: 0, requestPico };
  return { ...priced, bound: { ...tokens, outputTokensMin: tokens.outputTokens, price } };
}

function requireModel({ params }: BatchedRequest, number: number, before: string | null): string {
  const { model } = params;
  if (typeof model !== 'string') throw unbounded(`its request ${number} names no model`);
  if (before === null || before === model) return model;
  throw unbounded(
    `its request ${number} names another model than the first; send one batch a model`,
  );
}

/** The model is priced as in a request of its own. */
async function priceOf(
  { pricing, workspaceProvider }: PricedTarget,
  model: string,
  now: number,
): Promise<Pick<AdmittedBatch, 'price' | 'priceOrigin'>> {
  const setting = workspaceProvider?.models.get(model);
  const terms = {
    config: setting?.pricing ?? null,
    adjustments: (setting ?? workspaceProvider)?.adjustments ?? null,
    version: pricing.version,
  };
  const listed = await lookUpPrice(pricing.service, setting?.baseModel ?? model, now);
  const price = effectivePrice(terms, listed);
  return { price, priceOrigin: price === null ? null : priceOrigin(terms, listed !== null) };
}

function boundOfRequest(
  { path, params, bytes }: BatchedRequest,
  number: number,
  model: string,
  price: Price | null,
) {
  const metering = endpointAt('POST', path) === null ? null : meteringAt('POST', path, params);
  if (metering === null || meteringOf(metering) === null) {
    throw unbounded(`its request ${number} is for ${path}, which is not bounded`);
  }
  const wrong = unboundedParam(metering, params);
  if (wrong !== null) throw unbounded(`${wrong} of its request ${number} must be a whole number`);
  const bound = boundOf(metering, params, bytes, price, model);
  // A single request would be sent with these members.
  for (const [name, value] of outputClamps(metering, params, bound.outputTokens, '')) {
    const sent = params[name] ?? null;
    if (sent === null) throw unbounded(`its request ${number} sets no ${name}`);
    if (isDeepStrictEqual(sent, value)) continue;
    const fault = isObject(sent) ? `no limit in ${name}` : `${name} to more than its other limit`;
    throw unbounded(`its request ${number} sets ${fault}`);
  }
  const details = boundDetails(metering, params, bytes, price);
  if (details?.hasTools === true) {
    throw unbounded(`its request ${number} has a tool that the provider runs`);
  }
  const { inputTokens, likelyInputTokens, outputTokens } = bound;
  const most = price === null || details === null ? price : priceOfBound(price, details);
  const costUnits = most === null ? 0 : costUnitsMax(most, inputTokens, outputTokens);
  return { inputTokens, likelyInputTokens, outputTokens, costUnits };
}

/** The batch is refused under a limit of tokens or cost. */
export function unbounded(reason: string): GatewayError {
  const message = `The usage of this batch cannot be bounded: ${reason}`;
  return new GatewayError('usage_unbounded', message);
}
