/** Makes the provider refuse, break off, report no usage, or reset connections. */
import type { ProviderOrder } from '../witnesses/provider.ts';
import type { FaultKind } from './fault.ts';
import { failingProvider } from './permits.ts';

const names = {
  storm: 'provider storm of 429',
  cut: 'provider half events',
  silent: 'provider no usage',
  reset: 'provider resets',
} as const;

export const providerFaults: readonly FaultKind[] = Object.entries(names).map(
  ([failure, name]) => ({
    name,
    durationMs: [500, 4_000],
    permits: [failingProvider],
    targetsOf: () => [{ name: 'provider', claims: ['provider'] }],
    inject: async ({ provider }) => {
      provider.order({ failure: failure as ProviderOrder['failure'] });
      return async () => provider.order({ failure: null });
    },
  }),
);
