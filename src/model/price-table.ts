/** Knows what models cost that nobody has told the price of. */
import type { Price } from './pricing.ts';

/** Of the mock upstream, so that budgets can be seen to move: 1 and 2 dollars for a million tokens. */
const mockPrice: Price = {
  inputPico: 1_000_000,
  outputPico: 2_000_000,
  cachedInputPico: null,
  cacheWritePico: null,
  requestPico: 0,
};

/** Null where the price is not known, which a limit of cost refuses. */
export function priceOf(provider: string, _model: string | null): Price | null {
  return provider === 'mock-upstream' ? mockPrice : null;
}
