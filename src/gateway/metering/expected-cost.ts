/** Computes the most that a request can cost at a target, to compare targets. */
import { effectivePrice } from '../../model/pricing/effective-price.ts';
import { lookUpPrice } from '../../model/pricing/price-table.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { boundOf } from './bound.ts';

/** Null without a price. In pico-dollars, because micro-dollars do not tell small requests apart. */
export async function costBound(
  { pricing, metering, params, call }: ResolvedTarget,
  now: number,
): Promise<number | null> {
  const price = effectivePrice(pricing, await lookUpPrice(pricing.service, pricing.model, now));
  if (price === null) return null;
  const bytes = call.body?.length ?? 0;
  const { inputTokens, outputTokens } = boundOf(metering, params, bytes, price, pricing.model);
  const prices = price.tiers.findLast((tier) => inputTokens > tier.inputTokensAbove) ?? price;
  return inputTokens * prices.inputPico + outputTokens * prices.outputPico + price.requestPico;
}
