/** Computes the cost of token usage: prices in whole pico-dollars per token, sums in whole micro-dollars. */

/** Prices in pico-dollars; 1 dollar per million tokens is 1,000,000 pico-dollars per token. */
export interface TokenPrices {
  readonly inputPico: number;
  readonly outputPico: number;
  /** Input read from the provider's cache; null means the price of other input. */
  readonly cachedInputPico: number | null;
  /** Input written to the provider's cache; null means the price of other input. */
  readonly cacheWritePico: number | null;
  /** Input written to the cache for an hour; null means {@link cacheWritePico}. */
  readonly cacheWriteHourPico: number | null;
}

/** Prices of all tokens of a request with more input tokens than the bound. */
interface PriceTier extends TokenPrices {
  readonly inputTokensAbove: number;
}

export interface Price extends TokenPrices {
  readonly requestPico: number;
  /** Ascending by their bounds; empty if one price applies to all requests. */
  readonly tiers: readonly PriceTier[];
}

export interface TokenUsage {
  /** All input, including tokens read from and written to the cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of {@link cacheWriteTokens} cached for an hour; absent means none. */
  readonly cacheWriteHourTokens?: number;
}

const picoPerMicro = 1_000_000;

/** Cost of one request in micro-dollars, rounded up once, so that many requests are never undercounted. */
export function costUnits(price: Price, usage: TokenUsage): number {
  const prices = price.tiers.findLast((tier) => isWithin(tier, usage.inputTokens)) ?? price;
  const { cachedInputTokens: cached, cacheWriteTokens: written } = usage;
  const hour = Math.min(written, usage.cacheWriteHourTokens ?? 0);
  const plain = Math.max(0, usage.inputTokens - cached - written);
  const { inputPico, outputPico } = prices;
  const writePico = prices.cacheWritePico ?? inputPico;
  const cachedPico = prices.cachedInputPico ?? inputPico;
  const hourPico = prices.cacheWriteHourPico ?? writePico;
  const sum =
    plain * inputPico +
    cached * cachedPico +
    (written - hour) * writePico +
    hour * hourPico +
    usage.outputTokens * outputPico +
    price.requestPico;
  // No part is negative, so if the sum is exact, each part is exact as well.
  if (Number.isSafeInteger(sum)) return microOf(sum);
  return microOfParts([
    [plain, inputPico],
    [cached, cachedPico],
    [written - hour, writePico],
    [hour, hourPico],
    [usage.outputTokens, outputPico],
    [1, price.requestPico],
  ]);
}

/** Upper bound on the cost of a request in micro-dollars, whichever part of its input is cached. */
export function costUnitsMax(price: Price, inputTokens: number, outputTokens: number): number {
  const { inputPico, outputPico } = highestPrices(price, inputTokens);
  const sum = inputTokens * inputPico + outputTokens * outputPico + price.requestPico;
  if (Number.isSafeInteger(sum)) return microOf(sum);
  return microOfParts([
    [inputTokens, inputPico],
    [outputTokens, outputPico],
    [1, price.requestPico],
  ]);
}

/** Number of output tokens that a budget of micro-dollars can pay, next to input at its highest price. */
export function affordableOutput(price: Price, units: number, inputTokens: number): number {
  const { inputPico, outputPico } = highestPrices(price, inputTokens);
  const left =
    BigInt(units) * BigInt(picoPerMicro) -
    BigInt(inputTokens) * BigInt(inputPico) -
    BigInt(price.requestPico);
  if (left < 0n) return -1;
  return outputPico === 0 ? Number.MAX_SAFE_INTEGER : Number(left / BigInt(outputPico));
}

/**
 * Converts an amount to whole units of which one is 10^-`digits`, rounded up: dollars per million tokens
 * need 6 digits for pico-dollars per token. It reads the decimal text, not the binary value, because 0.1
 * means exactly a tenth.
 *
 * @throws TypeError for a negative or non-finite amount
 */
export function wholeUnits(amount: number, digits: number): number {
  const [, whole, part = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(amount)) ?? [];
  if (whole === undefined) throw new TypeError(`${amount} is not an amount`);
  const units = BigInt(whole + part);
  const shift = digits - part.length + Number(exponent);
  if (shift >= 0) return Number(units * 10n ** BigInt(shift));
  const divisor = 10n ** BigInt(-shift);
  return Number((units + divisor - 1n) / divisor);
}

function isWithin({ inputTokensAbove }: PriceTier, inputTokens: number): boolean {
  return inputTokens > inputTokensAbove;
}

/** The highest token prices that can apply to a request with this many input tokens or fewer. */
function highestPrices(price: Price, inputTokens: number) {
  let inputPico = highestInputPrice(price);
  let { outputPico } = price;
  for (const tier of price.tiers) {
    if (!isWithin(tier, inputTokens)) continue;
    inputPico = Math.max(inputPico, highestInputPrice(tier));
    outputPico = Math.max(outputPico, tier.outputPico);
  }
  return { inputPico, outputPico };
}

function highestInputPrice(prices: TokenPrices): number {
  const { inputPico, cachedInputPico, cacheWritePico, cacheWriteHourPico } = prices;
  return Math.max(inputPico, cachedInputPico ?? 0, cacheWritePico ?? 0, cacheWriteHourPico ?? 0);
}

/** Pico-dollars to micro-dollars, rounded up. */
function microOf(pico: number): number {
  const rest = pico % picoPerMicro;
  return (pico - rest) / picoPerMicro + (rest > 0 ? 1 : 0);
}

/** Like {@link microOf}, for a sum of products that exceeds the safe integers. */
function microOfParts(parts: readonly (readonly [tokens: number, pico: number])[]): number {
  const exact = parts.reduce((all, [tokens, pico]) => all + BigInt(tokens) * BigInt(pico), 0n);
  const unit = BigInt(picoPerMicro);
  return Number((exact + unit - 1n) / unit);
}
