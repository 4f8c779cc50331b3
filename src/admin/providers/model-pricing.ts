/** HTTP route for the public prices of models (docs/reference/resources.md, Prices of models). */
import { z } from 'zod';
import { type Route, route } from '../../http/routes/route.ts';
import {
  publishedOtherUnits,
  publishedPrice,
  publishedUnits,
} from '../../model/pricing/published-price.ts';
import { findAiProvider } from '../../model/services/ai-providers.ts';
import { ApiError } from '../../model/wire/errors.ts';

const Price = z.object({ price: z.number() });
const PayAsYouGo = z.object({
  ...Object.fromEntries(publishedUnits.map((unit) => [unit, Price.optional()])),
  /** By quality and size. */
  image: z.record(z.string(), z.record(z.string(), Price)).optional(),
  additional_units: z
    .object(Object.fromEntries(publishedOtherUnits.map((unit) => [unit, Price.optional()])))
    .optional(),
});

const Pricing = z.object({
  currency: z.literal('USD'),
  /** Prices up to the input size of the first tier. */
  pay_as_you_go: PayAsYouGo,
  /** Factors on the prices of tokens, such as `priority`. */
  service_tiers: z.record(z.string(), z.number()).optional(),
  tiers: z.array(z.object({ input_tokens_above: z.int(), pay_as_you_go: PayAsYouGo })),
});

/** Public, because the price list is, and clients call it without a credential. */
export function modelPricingRoutes(): Route<null>[] {
  return [
    route({
      mounts: { root: ['none'], v1: ['none'], v2: ['none'] },
      method: 'GET',
      path: '/model-configs/pricing/:provider/:model',
      summary: 'Get the price of a model from the public list, in US cents',
      response: Pricing,
      refusals: ['notFound'],
      handle: async ({ params, now }) => {
        const service = findAiProvider(params.provider!)?.slug;
        const price = service && (await publishedPrice(service, params.model!, now));
        if (!price) throw new ApiError('notFound', 'The public list has no price of this model');
        return { currency: 'USD' as const, ...price };
      },
    }),
  ];
}
