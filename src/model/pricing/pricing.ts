/** Knows what a use of tokens costs: prices in whole pico-dollars a token, sums in whole micro-dollars. */

/** Pico-dollars: 1 dollar for a million tokens is 1,000,000 of them a token. */
export interface TokenPrices {
  readonly inputPico: number;
  readonly outputPico: number;
  /** Of input that the provider had kept; as other input where null. */
  readonly cachedInputPico: number | null;
  /** Of input that the provider keeps; as other input where null. */
  readonly cacheWritePico: number | null;
  /** Of input that the provider keeps for an hour; as what it keeps for less where null. */
  readonly cacheWriteHourPico: number | null;
}

/** Prices of requests with more tokens of input than these, for all of their tokens. */
interface PriceTier extends TokenPrices {
  readonly inputTokensAbove: number;
}

export interface Price extends TokenPrices {
  readonly requestPico: number;
  /** By how much input they begin at, the least first; none where one price holds for all requests. */
  readonly tiers: readonly PriceTier[];
}

export interface TokenUsage {
  /** All of the input, with what was kept and what is being kept. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** Those of {@link cacheWriteTokens} that are kept for an hour; none where absent. */
  readonly cacheWriteHourTokens?: number;
}

const picoPerMicro = 1_000_000;

/** Micro-dollars of one request, rounded up once, so that no number of requests is ever counted short. */
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
  // Nothing is negative: where the sum is exact, so is each of its parts.
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

/** Most micro-dollars that a request of so many tokens can cost, whatever of its input is kept. */
export function costUnitsMax(price: Price, inputTokens: number, outputTokens: number): number {
  const { inputPico, outputPico } = dearest(price, inputTokens);
  const sum = inputTokens * inputPico + outputTokens * outputPico + price.requestPico;
  if (Number.isSafeInteger(sum)) return microOf(sum);
  return microOfParts([
    [inputTokens, inputPico],
    [outputTokens, outputPico],
    [1, price.requestPico],
  ]);
}

/** How many tokens of output so many micro-dollars are good for, beside input that costs the most it can. */
export function affordableOutput(price: Price, units: number, inputTokens: number): number {
  const { inputPico, outputPico } = dearest(price, inputTokens);
  const left =
    BigInt(units) * BigInt(picoPerMicro) -
    BigInt(inputTokens) * BigInt(inputPico) -
    BigInt(price.requestPico);
  if (left < 0n) return -1;
  return outputPico === 0 ? Number.MAX_SAFE_INTEGER : Number(left / BigInt(outputPico));
}

/**
 * Whole units of an amount whose decimal text has `digits` behind the point of its unit, rounded up:
 * dollars for a million tokens have 6 in pico-dollars a token. Its text and not its binary value, as
 * 0.1 is meant to be a tenth.
 *
 * @throws TypeError for what is no amount
 */
export function wholeUnits(amount: number, digits: number): number {
  const [, whole, part = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(amount)) ?? [];
  if (whole === undefined) throw new TypeError(`${amount} is no amount`);
  const units = BigInt(whole + part);
  const shift = digits - part.length + Number(exponent);
  if (shift >= 0) return Number(units * 10n ** BigInt(shift));
  const divisor = 10n ** BigInt(-shift);
  return Number((units + divisor - 1n) / divisor);
}

function isWithin({ inputTokensAbove }: PriceTier, inputTokens: number): boolean {
  return inputTokens > inputTokensAbove;
}

/** Most that a token can cost of a request with so much input, or less. */
function dearest(price: Price, inputTokens: number) {
  let inputPico = dearestInput(price);
  let { outputPico } = price;
  for (const tier of price.tiers) {
    if (!isWithin(tier, inputTokens)) continue;
    inputPico = Math.max(inputPico, dearestInput(tier));
    outputPico = Math.max(outputPico, tier.outputPico);
  }
  return { inputPico, outputPico };
}

function dearestInput(prices: TokenPrices): number {
  const { inputPico, cachedInputPico, cacheWritePico, cacheWriteHourPico } = prices;
  return Math.max(inputPico, cachedInputPico ?? 0, cacheWritePico ?? 0, cacheWriteHourPico ?? 0);
}

/** Micro-dollars, rounded up. */
function microOf(pico: number): number {
  const rest = pico % picoPerMicro;
  return (pico - rest) / picoPerMicro + (rest > 0 ? 1 : 0);
}

/** Likewise, of so many tokens at so many pico-dollars each, together more than a number holds. */
function microOfParts(parts: readonly (readonly [tokens: number, pico: number])[]): number {
  const exact = parts.reduce((all, [tokens, pico]) => all + BigInt(tokens) * BigInt(pico), 0n);
  const unit = BigInt(picoPerMicro);
  return Number((exact + unit - 1n) / unit);
}
