/** Reserves the usage of one response of a session, and charges it exactly once. */
import type { Account, Ledger } from '../../ledger/ledger.ts';
import { type Limit, type UsageBound, usageAtPrice } from '../../ledger/limit.ts';
import { effectivePrice } from '../../model/pricing/effective-price.ts';
import { type PriceOrigin, priceOrigin } from '../../model/pricing/price-origin.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import { limitRefusalOf, noTokens } from '../metering/admit.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';

/** The most that a response can use. */
export interface ResponseBound {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Smallest useful output. */
const outputTokensMin = 16;
const bytesOfToken = 4;

/** @throws GatewayError when a limit refuses the response */
export async function admitResponse(
  ledger: Ledger,
  target: ResolvedTarget,
  limits: readonly Limit[],
  { inputTokens, outputTokens }: ResponseBound,
  now: number,
): Promise<ResponseAccount> {
  const { pricing } = target;
  const listPrice = await lookUpPrice(pricing.service, pricing.model, now);
  const price = effectivePrice(pricing, listPrice);
  const bound: UsageBound = {
    inputTokens,
    likelyInputTokens: Math.ceil(inputTokens / bytesOfToken),
    outputTokens,
    outputTokensMin: Math.min(outputTokens, outputTokensMin),
    price,
  };
  const account = ledger.open();
  try {
    const grant = await account.admit(limits, bound);
    const origin = price === null ? null : priceOrigin(pricing, listPrice !== null);
    return new ResponseAccount(account, limits, bound, grant.outputTokens, origin);
  } catch (thrown) {
    throw limitRefusalOf(thrown, now);
  }
}

export class ResponseAccount {
  /** Granted output tokens. */
  readonly outputTokens: number;
  readonly #account: Account;
  readonly #limits: readonly Limit[];
  readonly #bound: UsageBound;
  readonly #priceOrigin: PriceOrigin | null;

  constructor(
    account: Account,
    limits: readonly Limit[],
    bound: UsageBound,
    outputTokens: number,
    origin: PriceOrigin | null,
  ) {
    this.#account = account;
    this.#limits = limits;
    this.#bound = bound;
    this.outputTokens = outputTokens;
    this.#priceOrigin = origin;
  }

  /** Whether the output must be bounded to what was granted. */
  get isClamped(): boolean {
    return this.#limits.some(({ type, isHard }) => isHard && type !== 'requests');
  }

  /** Charges what the provider reports; null for nothing, which charges everything granted under a limit. */
  settle(reported: TokenUsage | null): MeteredUsage {
    const usage = reported ?? this.#unreported();
    const used = usageAtPrice(this.#bound.price, usage);
    this.#account.settle(used);
    return {
      usage,
      costUnits: used.costUnits,
      isEstimated: reported === null,
      model: null,
      priceOrigin: this.#priceOrigin,
    };
  }

  /** Nothing was used: the provider has refused the response, or it was never sent. */
  release(): void {
    this.#account.release();
    this.#account.uncount();
  }

  #unreported(): TokenUsage {
    const isCounted = this.#limits.some(({ type }) => type !== 'requests');
    const { inputTokens } = this.#bound;
    return isCounted ? { ...noTokens, inputTokens, outputTokens: this.outputTokens } : noTokens;
  }
}
