/** Simulates the slices of limits of all organisations, on every processor, and sums up what banks exchange. */
import { availableParallelism } from 'node:os';
import type { Deployment } from './deployment.ts';
import { runThread } from './run-thread.ts';
import type { SliceTimes } from './simulated-organisation.ts';
import { noSlices, type SliceFigures, sumSlices } from './slice-figures.ts';
import type { SliceShare } from './slice-worker.ts';

/** `regions` of an organisation, each with a bank of its own; 0 for gateways that use the bank of home. */
export async function simulateSlices(
  deployment: Deployment,
  times: SliceTimes,
  regions: number,
): Promise<SliceFigures> {
  const { organisations } = deployment;
  const workers = Math.min(availableParallelism(), organisations);
  const shares = Array.from({ length: workers }, (_, first) => {
    const share: SliceShare = { deployment, times, regions, first, step: workers };
    return runThread<SliceFigures>('slice-worker.ts', share);
  });
  return (await Promise.all(shares)).reduce(sumSlices, noSlices());
}
