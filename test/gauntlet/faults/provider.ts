/** Makes the provider refuse, break off, stay silent, answer late or nonsense, or change its certificate. */
import type { ProviderOrder } from '../witnesses/provider.ts';
import type { FaultKind, Permit } from './fault.ts';
import { failingProvider } from './permits.ts';

function providerFault(
  name: string,
  failure: ProviderOrder['failure'],
  permits: readonly Permit[] = [failingProvider],
): FaultKind {
  return {
    name,
    durationMs: [500, 4_000],
    permits,
    targetsOf: () => [{ name: 'provider', claims: ['provider'] }],
    inject: async ({ provider }) => {
      provider.order({ failure });
      return async () => provider.order({ failure: null });
    },
  };
}

const certificate = {
  durationMs: [1_000, 5_000],
  targetsOf: () => [{ name: 'provider', claims: ['certificate'] }],
} as const satisfies Partial<FaultKind>;

export const providerFaults: readonly FaultKind[] = [
  providerFault('provider storm of 429', 'storm'),
  providerFault('provider half events', 'cut'),
  providerFault('provider no usage', 'silent'),
  providerFault('provider resets', 'reset'),
  providerFault('provider half-open', 'mute'),
  providerFault('provider nonsense', 'garbage'),
  providerFault('provider late', 'late', []),
  {
    ...certificate,
    name: 'provider certificate changed',
    permits: [],
    inject: async ({ secureProvider }) => {
      secureProvider.present('other');
      return async () => secureProvider.present('usual');
    },
  },
  {
    ...certificate,
    name: 'provider certificate expired',
    permits: [failingProvider],
    inject: async ({ secureProvider }) => {
      secureProvider.present('expired');
      secureProvider.dropConnections();
      return async () => secureProvider.present('usual');
    },
  },
];
