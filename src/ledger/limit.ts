/** Defines a limit as the ledger sees it: a counter, its bound, and how requests are measured. */

import type { UsageType } from '../model/limits/limits.ts';
import {
  affordableOutput,
  costUnits,
  costUnitsMax,
  type Price,
  type TokenUsage,
} from '../model/pricing/pricing.ts';
import { idToBytes } from '../model/wire/ids.ts';
import type { CounterRef } from '../store/usage/counter-place.ts';
import { type CountedKind, counterId } from '../store/usage/usage-counters.ts';

export interface Limit {
  readonly organisationId: string;
  readonly subjectKind: CountedKind;
  readonly subjectId: string;
  /** First millisecond of the window that the request is charged to. */
  readonly windowStart: number;
  /** First millisecond after it; null when it never ends. */
  readonly endsAt: number | null;
  /** Distinguishes the counters of a subject: by group value, or by the unit of a rate limit. */
  readonly valueKey: string;
  readonly type: UsageType;
  readonly limitUnits: number;
  readonly alertThresholdUnits: number | null;
  /** Units that each gateway may use beyond its slices in an outage; absent for none. */
  readonly outageUnits?: number;
  /** True for rate limits, which count requests or tokens in fixed windows; false for budgets. */
  readonly isRate: boolean;
  /** False: usage is counted even beyond the limit, and nothing is reserved or rejected. */
  readonly isHard: boolean;
  /** Name in messages: `API key ci`, `usage-limit policy teams`. */
  readonly label: string;
}

/** The counter of a limit. */
export function counterRefOf(
  limit: Pick<
    Limit,
    'isRate' | 'subjectKind' | 'subjectId' | 'windowStart' | 'valueKey' | 'endsAt'
  >,
): CounterRef {
  const { isRate, subjectKind, subjectId, windowStart, valueKey, endsAt } = limit;
  return {
    isRate,
    subjectKind,
    windowStart,
    valueKey,
    endsAt: isRate ? endsAt : null,
    subjectId: idToBytes(subjectId),
    id: idToBytes(counterId(subjectId, valueKey)),
  };
}

/** Upper bound of the usage of a request. */
export interface UsageBound {
  /** Upper bound of what the provider counts. */
  readonly inputTokens: number;
  /** Likely input, which rate limits use. */
  readonly likelyInputTokens: number;
  readonly outputTokens: number;
  /** Least useful output; equals {@link outputTokens} when nothing can be cut. */
  readonly outputTokensMin: number;
  /** Null when the price is unknown. */
  readonly price: Price | null;
  /** Includes other units and service tiers; absent when {@link price} bounds the request. */
  readonly boundPrice?: Price;
}

/** Usage of a request. */
export interface Usage extends TokenUsage {
  readonly costUnits: number;
}

/** Adds the cost to the usage; 0 without a price. */
export function usageAtPrice(price: Price | null, usage: TokenUsage): Usage {
  return { ...usage, costUnits: price === null ? 0 : costUnits(price, usage) };
}

/** Units of a limit that are used, and those that running requests of this process have reserved. */
export interface LimitUsage {
  readonly usedUnits: number;
  readonly reservedUnits: number;
}

/** A limit rejects the request. */
export class LimitReached extends Error {
  override name = 'LimitReached';
  readonly limit: Limit;
  /** Usage as known when the request was rejected; null when nothing is known yet. */
  readonly usage: LimitUsage | null;
  /** The least that the request needs. */
  readonly unitsMin: number;

  constructor(limit: Limit, usage: LimitUsage | null, unitsMin: number) {
    super(`${limit.label} has reached its limit`);
    this.limit = limit;
    this.usage = usage;
    this.unitsMin = unitsMin;
  }
}

/** A cost limit applies to a model without a known price. */
export class PriceUnknown extends Error {
  override name = 'PriceUnknown';
  readonly limit: Limit;

  constructor(limit: Limit) {
    super(`${limit.label} limits the cost of requests, but the price of this model is unknown`);
    this.limit = limit;
  }
}

/** The database does not respond and the slices do not suffice, so it is unknown whether the limit is reached. */
export class LimitsUnknown extends Error {
  override name = 'LimitsUnknown';
  /** Advice for the operator; null for none. */
  readonly hint: string | null;

  constructor(cause: unknown, hint: string | null = null) {
    super('the limits of this request cannot be looked up now', { cause });
    this.hint = hint;
  }
}

/** Most units of the limit that a request with this output can use. */
export function boundUnits(limit: Limit, bound: UsageBound, outputTokens: number): number {
  if (limit.type === 'requests') return 1;
  if (limit.isRate) return bound.likelyInputTokens;
  if (limit.type === 'tokens') return bound.inputTokens + outputTokens;
  if (bound.price === null) throw new PriceUnknown(limit);
  return costUnitsMax(bound.boundPrice ?? bound.price, bound.inputTokens, outputTokens);
}

/** Output tokens that the units of the limit cover; negative when they do not even cover the input. */
export function outputWithin(limit: Limit, bound: UsageBound, units: number): number {
  if (limit.type === 'requests') return units < 1 ? -1 : bound.outputTokens;
  if (limit.isRate) return units < bound.likelyInputTokens ? -1 : bound.outputTokens;
  if (limit.type === 'tokens') return units - bound.inputTokens;
  if (bound.price === null) throw new PriceUnknown(limit);
  return affordableOutput(bound.boundPrice ?? bound.price, units, bound.inputTokens);
}

/** Used units of the limit. */
export function usedUnits(limit: Pick<Limit, 'type'>, usage: Usage): number {
  if (limit.type === 'requests') return 1;
  return limit.type === 'cost' ? usage.costUnits : usage.inputTokens + usage.outputTokens;
}
