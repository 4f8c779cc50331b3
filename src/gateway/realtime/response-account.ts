/** Reserves the usage of one response of a session, and charges it exactly once. */
import type { Account, Ledger } from '../../ledger/ledger.ts';
import { type Limit, type UsageBound, usageAtPrice } from '../../ledger/limit.ts';
import { effectivePrice } from '../../model/pricing/effective-price.ts';
import { type PriceOrigin, priceOrigin } from '../../model/pricing/price-origin.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import { costUnitsMax, type Price, type TokenUsage } from '../../model/pricing/pricing.ts';
import { limitRefusalOf, noTokens } from '../metering/admit.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';

/** The most that a response can use. */
export interface ResponseBound {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether less output than this is of no use, because the provider does not receive a bound of this response. */
  readonly isWhole?: boolean;
}

/** Smallest useful output. */
const outputTokensMin = 16;
const bytesOfToken = 4;

/** @throws GatewayError when a limit refuses the response */
export async function admitResponse(
  ledger: Ledger,
  target: ResolvedTarget,
  limits: readonly Limit[],
  { inputTokens, outputTokens, isWhole = false }: ResponseBound,
  now: number,
): Promise<ResponseAccount> {
  const { pricing } = target;
  const listPrice = await lookUpPrice(pricing.service, pricing.model, now);
  const price = effectivePrice(pricing, listPrice);
  const bound: UsageBound = {
    inputTokens,
    likelyInputTokens: Math.ceil(inputTokens / bytesOfToken),
    outputTokens,
    outputTokensMin: isWhole ? outputTokens : Math.min(outputTokens, outputTokensMin),
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
  /** Accounts of input that was added later. */
  readonly #extensions: Account[] = [];
  #isSettled = false;
  #bound: UsageBound;
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

  /** Reserved input tokens. */
  get inputTokens(): number {
    return this.#bound.inputTokens;
  }

  /**
   * Reserves input that is added to the response before it begins.
   *
   * @throws GatewayError when a limit refuses it
   */
  async extend(ledger: Ledger, inputTokens: number, now: number): Promise<void> {
    const bound = this.#bound;
    const whole = {
      ...bound,
      inputTokens: bound.inputTokens + inputTokens,
      likelyInputTokens: bound.likelyInputTokens + Math.ceil(inputTokens / bytesOfToken),
    };
    const account = ledger.open();
    try {
      await account.admit(
        this.#limits.filter(({ type }) => type !== 'requests'),
        {
          inputTokens,
          likelyInputTokens: Math.ceil(inputTokens / bytesOfToken),
          outputTokens: 0,
          outputTokensMin: 0,
          price: bound.price && differenceOf(bound.price, bound, whole),
        },
      );
    } catch (thrown) {
      throw limitRefusalOf(thrown, now);
    }
    // The response may have ended meanwhile.
    if (this.#isSettled) return account.release();
    this.#extensions.push(account);
    this.#bound = whole;
  }

  /**
   * Charges what the provider reports, or an estimate; null for nothing, which charges everything granted under a limit.
   */
  settle(counted: TokenUsage | null, isReported = counted !== null): MeteredUsage {
    this.#isSettled = true;
    const usage = counted ?? this.#unreported();
    const used = usageAtPrice(this.#bound.price, usage);
    this.#account.settle(used);
    for (const one of this.#extensions) one.release();
    return {
      usage,
      costUnits: used.costUnits,
      isEstimated: !isReported,
      model: null,
      priceOrigin: this.#priceOrigin,
    };
  }

  /** Nothing was used: the provider has refused the response, or it was never sent. */
  release(): void {
    this.#isSettled = true;
    for (const one of this.#extensions) one.release();
    this.#account.release();
    this.#account.uncount();
  }

  #unreported(): TokenUsage {
    const isCounted = this.#limits.some(({ type }) => type !== 'requests');
    const { inputTokens } = this.#bound;
    return isCounted ? { ...noTokens, inputTokens, outputTokens: this.outputTokens } : noTokens;
  }
}

type Tokens = Pick<UsageBound, 'inputTokens' | 'outputTokens'>;

/** A price of a request that is what one bound costs more than another; a tier may make all of its tokens dearer. */
function differenceOf(price: Price, one: Tokens, other: Tokens): Price {
  const costOf = ({ inputTokens, outputTokens }: Tokens): number =>
    costUnitsMax(price, inputTokens, outputTokens);
  const units = Math.max(0, costOf(other) - costOf(one));
  return { ...noPrice, requestPico: units * picoPerMicro };
}

const picoPerMicro = 1_000_000;
const noPrice: Price = {
  inputPico: 0,
  outputPico: 0,
  cachedInputPico: null,
  cacheWritePico: null,
  cacheWriteHourPico: null,
  requestPico: 0,
  tiers: [],
};
