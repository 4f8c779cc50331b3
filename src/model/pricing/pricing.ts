/** Computes the cost of token usage: prices in whole pico-dollars per token, sums in whole micro-dollars. */
import {
  type Counts,
  outputKinds,
  type PricedKind,
  type PriceFactor,
  type TokensByKind,
  tierFactor,
  type UsageDetails,
} from './priced-details.ts';

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
  /** Prices of kinds of tokens that differ from those above. */
  readonly kinds?: Readonly<Partial<Record<PricedKind, number>>>;
}

/** Prices of all tokens of a request with more input tokens than the bound. */
export interface PriceTier extends TokenPrices {
  readonly inputTokensAbove: number;
}

export interface Price extends TokenPrices {
  readonly requestPico: number;
  /** Ascending by their bounds; empty if one price applies to all requests. */
  readonly tiers: readonly PriceTier[];
  /** Prices of units other than tokens, such as searches and images. */
  readonly units?: Counts;
  /** Factors of service tiers on the prices of tokens. */
  readonly factors?: Readonly<Record<string, PriceFactor>>;
}

export interface TokenUsage {
  /** All input, including tokens read from and written to the cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of {@link cacheWriteTokens} cached for an hour; absent means none. */
  readonly cacheWriteHourTokens?: number;
  /** Kinds, units and tiers with a price of their own; absent means none. */
  readonly details?: UsageDetails;
}

const picoPerMicro = 1_000_000;

/** Cost of one request in micro-dollars, rounded up once, so that many requests are never undercounted. */
export function costUnits(price: Price, usage: TokenUsage): number {
  const prices = price.tiers.findLast((tier) => isWithin(tier, usage.inputTokens)) ?? price;
  if (hasDetails(prices, usage)) return detailedCostUnits(price, prices, usage);
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

type DetailedUsage = TokenUsage & { readonly details: UsageDetails };

/** Whether anything of the usage has a price of its own. */
function hasDetails(prices: TokenPrices, usage: TokenUsage): usage is DetailedUsage {
  const { details } = usage;
  if (details === undefined) return false;
  const { kinds, units, tiers } = details;
  return (
    units !== undefined ||
    tiers !== undefined ||
    (kinds !== undefined && prices.kinds !== undefined)
  );
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
  let outputPico = highestOutputPrice(price);
  for (const tier of price.tiers) {
    if (!isWithin(tier, inputTokens)) continue;
    inputPico = Math.max(inputPico, highestInputPrice(tier));
    outputPico = Math.max(outputPico, highestOutputPrice(tier));
  }
  return { inputPico, outputPico };
}

function highestInputPrice(prices: TokenPrices): number {
  const { inputPico, cachedInputPico, cacheWritePico, cacheWriteHourPico, kinds } = prices;
  const most = Math.max(
    inputPico,
    cachedInputPico ?? 0,
    cacheWritePico ?? 0,
    cacheWriteHourPico ?? 0,
  );
  if (kinds === undefined) return most;
  const {
    audioInput = 0,
    imageInput = 0,
    videoInput = 0,
    cachedAudio = 0,
    cachedImage = 0,
  } = kinds;
  return Math.max(most, audioInput, imageInput, videoInput, cachedAudio, cachedImage);
}

function highestOutputPrice({ outputPico, kinds }: TokenPrices): number {
  if (kinds === undefined) return outputPico;
  return outputKinds.reduce((most, kind) => Math.max(most, kinds[kind] ?? 0), outputPico);
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

/** Micro-dollars, rounded up once. `prices` are those of the input size. */
function detailedCostUnits(
  price: Price,
  prices: TokenPrices,
  usage: TokenUsage & { readonly details: UsageDetails },
): number {
  const { kinds, units = {}, tiers = [] } = usage.details;
  const { times, per } = tierFactor(price.factors, tiers);
  const tokens = inputPico(prices, usage, kinds ?? {}) + outputPico(prices, usage, kinds);
  const rest = BigInt(price.requestPico) + unitsPico(price, units);
  const divisor = BigInt(per) * BigInt(picoPerMicro);
  const sum = tokens * BigInt(times) + rest * BigInt(per);
  return Number((sum + divisor - 1n) / divisor);
}

function inputPico(prices: TokenPrices, usage: TokenUsage, counts: TokensByKind): bigint {
  const { kinds = {} } = prices;
  const written = usage.cacheWriteTokens;
  const hour = Math.min(written, usage.cacheWriteHourTokens ?? 0);
  const cached = parts(usage.cachedInputTokens, [
    [counts.cachedAudio, kinds.cachedAudio],
    [counts.cachedImage, kinds.cachedImage],
  ]);
  const fresh = (all: number | undefined, ofCache: number | undefined): number =>
    Math.max(0, (all ?? 0) - (ofCache ?? 0));
  const plain = parts(Math.max(0, usage.inputTokens - usage.cachedInputTokens - written), [
    [fresh(counts.audioInput, counts.cachedAudio), kinds.audioInput],
    [fresh(counts.imageInput, counts.cachedImage), kinds.imageInput],
    [counts.videoInput, kinds.videoInput],
  ]);
  const writePico = prices.cacheWritePico ?? prices.inputPico;
  return (
    plain.pico +
    pico(plain.rest, prices.inputPico) +
    cached.pico +
    pico(cached.rest, prices.cachedInputPico ?? prices.inputPico) +
    pico(written - hour, writePico) +
    pico(hour, prices.cacheWriteHourPico ?? writePico)
  );
}

/** Without reported kinds all output costs the highest price of the model. */
function outputPico(
  prices: TokenPrices,
  { outputTokens }: TokenUsage,
  counts: TokensByKind | undefined,
): bigint {
  const { kinds = {} } = prices;
  const hasKinds = counts !== undefined && outputKinds.some((kind) => counts[kind] !== undefined);
  if (!hasKinds) return pico(outputTokens, prices.outputPico);
  const { rest, pico: sum } = parts(outputTokens, [
    [counts.audioOutput, kinds.audioOutput],
    [counts.imageOutput, kinds.imageOutput],
    [counts.videoOutput, kinds.videoOutput],
    [counts.reasoning, kinds.reasoning],
    [counts.citation, kinds.citation],
  ]);
  return sum + pico(rest, kinds.textOutput ?? prices.outputPico);
}

/** Charges parts of `total` that have a price of their own; returns what is left of it. */
function parts(
  total: number,
  some: readonly (readonly [count: number | undefined, pico: number | undefined])[],
): { readonly rest: number; readonly pico: bigint } {
  let rest = total;
  let sum = 0n;
  for (const [count = 0, price] of some) {
    if (price === undefined) continue;
    const counted = Math.min(rest, count);
    rest -= counted;
    sum += pico(counted, price);
  }
  return { rest, pico: sum };
}

function pico(count: number, price: number): bigint {
  return BigInt(count) * BigInt(price);
}

/** Pico-dollars of units; one without a price costs nothing. */
export function unitsPico({ units: prices = {} }: Price, counts: Counts): bigint {
  let sum = 0n;
  for (const [unit, count] of Object.entries(counts)) sum += pico(count, prices[unit] ?? 0);
  return sum;
}
