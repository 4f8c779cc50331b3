/** Separates a gateway from everything else, or loses bursts of its packets. */
import { setTimeout as wait } from 'node:timers/promises';
import type { FaultKind } from './fault.ts';
import { lockedBudgets, separatedGateway } from './permits.ts';

const common = {
  durationMs: [1_000, 5_000],
  permits: [separatedGateway, lockedBudgets],
  targetsOf: ({ separable }) => [
    { name: separable!.place.name, claims: [`network of ${separable!.place.name}`] },
  ],
  whyMissing: ({ separable }) =>
    separable === null ? 'a network namespace needs root on Linux and the program ip' : null,
} as const satisfies Partial<FaultKind>;

/** One in three packets on average. */
const [lostMs, passedMs] = [20, 40];

export const networkFaults: readonly FaultKind[] = [
  {
    ...common,
    name: 'network partition',
    inject: async ({ separable }) => {
      separable!.network.setLink('down');
      return async () => separable!.network.setLink('up');
    },
  },
  {
    ...common,
    name: 'packet loss',
    inject: async ({ separable }) => {
      const over = new AbortController();
      const losing = loseBursts(separable!.network, over.signal);
      return async () => {
        over.abort();
        await losing;
      };
    },
  },
];

async function loseBursts(
  network: { setLink(state: 'up' | 'down'): void },
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    network.setLink('down');
    await wait(lostMs);
    network.setLink('up');
    await wait(passedMs);
  }
}
