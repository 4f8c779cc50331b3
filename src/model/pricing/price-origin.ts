/** States where the price of a request comes from, and in which version. */
import type { PriceTerms } from './effective-price.ts';

/**
 * `table`: the price table; `integration`: the table with factors of the integration or of its model; `model`: prices
 * of the model in the integration.
 */
export const priceSources = ['table', 'integration', 'model'] as const;
export type PriceSource = (typeof priceSources)[number];

export interface PriceOrigin {
  readonly source: PriceSource;
  /** Version of the integration, of the price table, or both, as far as they determine the price. */
  readonly version: string;
}

/** Version and publication date of the price table, which is the package `@pydantic/genai-prices`. */
export const priceTableVersion = 'genai-prices 0.1.8 (2026-09-23)';

const ofTable: PriceOrigin = { source: 'table', version: priceTableVersion };

/** Where a known price comes from. `isListed` says whether the price table has the model. */
export function priceOrigin(
  { config, adjustments, version }: PriceTerms,
  isListed: boolean,
): PriceOrigin {
  const hasOwn = config?.pay_as_you_go !== undefined;
  if (!hasOwn && adjustments?.multiplier === undefined) return ofTable;
  const source = hasOwn ? 'model' : 'integration';
  return { source, version: isListed ? `${version}, ${priceTableVersion}` : version };
}
