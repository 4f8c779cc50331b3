/** Knows what a limit is to the ledger: one counter, how far it may go, and how a request is measured by it. */

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
  /** Tells the counter from others of its subject: the value of a group, the unit of a rate limit. */
  readonly valueKey: string;
  readonly type: UsageType;
  readonly limitUnits: number;
  readonly alertThresholdUnits: number | null;
  /** A rate limit, which is about requests or tokens in a fixed window; else a budget. */
  readonly isRate: boolean;
  /** False: usage is counted, also beyond the limit, and nothing is reserved or refused. */
  readonly isHard: boolean;
  /** What people call it: `API key ci`, `usage-limit policy teams`. */
  readonly label: string;
}

/** The counter of a limit. */
export function placeOf(
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

/** Most that a request can use. */
export interface UsageBound {
  /** Not fewer than the provider will count. */
  readonly inputTokens: number;
  /** What the input is likely to be, by which rate limits judge. */
  readonly likelyInputTokens: number;
  readonly outputTokens: number;
  /** Fewer than these would be of no use to the caller; as many as {@link outputTokens} where nothing can be cut. */
  readonly outputTokensMin: number;
  /** Null where nobody knows what the model costs. */
  readonly price: Price | null;
}

/** What a request has used. */
export interface Usage extends TokenUsage {
  readonly costUnits: number;
}

/** What was used, with what it costs: nothing where there is no price. */
export function usageAtPrice(price: Price | null, usage: TokenUsage): Usage {
  return { ...usage, costUnits: price === null ? 0 : costUnits(price, usage) };
}

/** A limit does not let the request through. */
export class LimitReached extends Error {
  override name = 'LimitReached';
  readonly limit: Limit;

  constructor(limit: Limit) {
    super(`${limit.label} has reached its limit`);
    this.limit = limit;
  }
}

/** A cost limit applies to a model that nobody has told the price of. */
export class PriceUnknown extends Error {
  override name = 'PriceUnknown';
  readonly limit: Limit;

  constructor(limit: Limit) {
    super(`${limit.label} limits the cost of requests, and the price of this model is not known`);
    this.limit = limit;
  }
}

/** The database does not answer, and what is held does not suffice: nobody can say whether the limit is reached. */
export class LimitsUnknown extends Error {
  override name = 'LimitsUnknown';

  constructor(cause: unknown) {
    super('the limits of this request cannot be looked up now', { cause });
  }
}

/** Whole units of the limit that a request with so much output can use at most. */
export function boundUnits(limit: Limit, bound: UsageBound, outputTokens: number): number {
  if (limit.type === 'requests') return 1;
  if (limit.isRate) return bound.likelyInputTokens;
  if (limit.type === 'tokens') return bound.inputTokens + outputTokens;
  if (bound.price === null) throw new PriceUnknown(limit);
  return costUnitsMax(bound.price, bound.inputTokens, outputTokens);
}

/** How many tokens of output so many units of the limit are good for; negative where not even the input is covered. */
export function outputWithin(limit: Limit, bound: UsageBound, units: number): number {
  if (limit.type === 'requests') return units < 1 ? -1 : bound.outputTokens;
  if (limit.isRate) return units < bound.likelyInputTokens ? -1 : bound.outputTokens;
  if (limit.type === 'tokens') return units - bound.inputTokens;
  if (bound.price === null) throw new PriceUnknown(limit);
  return affordableOutput(bound.price, units, bound.inputTokens);
}

/** Whole units of the limit that were used. */
export function usedUnits(limit: Pick<Limit, 'type'>, usage: Usage): number {
  if (limit.type === 'requests') return 1;
  return limit.type === 'cost' ? usage.costUnits : usage.inputTokens + usage.outputTokens;
}
