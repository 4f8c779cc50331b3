/** Knows what a use of tokens costs: prices in whole pico-dollars a token, sums in whole micro-dollars. */

/** Pico-dollars: 1 dollar for a million tokens is 1,000,000 of them a token. */
export interface Price {
  readonly inputPico: number;
  readonly outputPico: number;
  /** Of input that the provider had kept; as other input where null. */
  readonly cachedInputPico: number | null;
  /** Of input that the provider keeps; as other input where null. */
  readonly cacheWritePico: number | null;
  readonly requestPico: number;
}

export interface TokenUsage {
  /** All of the input, with what was kept and what is being kept. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
}

const picoPerMicro = 1_000_000n;

/** Micro-dollars of one request, rounded up once, so that no number of requests is ever counted short. */
export function costUnits(price: Price, usage: TokenUsage): number {
  const { inputPico, outputPico, requestPico } = price;
  const { cachedInputTokens: cached, cacheWriteTokens: written } = usage;
  const plain = Math.max(0, usage.inputTokens - cached - written);
  const pico =
    BigInt(plain) * BigInt(inputPico) +
    BigInt(cached) * BigInt(price.cachedInputPico ?? inputPico) +
    BigInt(written) * BigInt(price.cacheWritePico ?? inputPico) +
    BigInt(usage.outputTokens) * BigInt(outputPico) +
    BigInt(requestPico);
  return Number((pico + picoPerMicro - 1n) / picoPerMicro);
}

/** Most that input of so many tokens can cost, whatever of it is kept. */
export function dearestInputPico({ inputPico, cachedInputPico, cacheWritePico }: Price): number {
  return Math.max(inputPico, cachedInputPico ?? 0, cacheWritePico ?? 0);
}

/** How many tokens of output so many micro-dollars are good for, beside input that costs the most it can. */
export function affordableOutput(price: Price, units: number, inputTokens: number): number {
  const input = BigInt(inputTokens) * BigInt(dearestInputPico(price)) + BigInt(price.requestPico);
  const left = BigInt(units) * picoPerMicro - input;
  if (left < 0n) return -1;
  return price.outputPico === 0 ? Number.MAX_SAFE_INTEGER : Number(left / BigInt(price.outputPico));
}
