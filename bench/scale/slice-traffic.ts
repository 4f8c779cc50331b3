/** Simulates the slices of limits of all organisations, on every processor, and sums up what banks exchange. */
import { availableParallelism } from 'node:os';
import { type LinkFigures, noTraffic } from './counting-bank.ts';
import type { Deployment } from './deployment.ts';
import { runThread } from './run-thread.ts';
import type { SliceFigures, SliceTimes } from './simulated-organisation.ts';
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
  return (await Promise.all(shares)).reduce(sum, noSlices());
}

export function noSlices(): SliceFigures {
  return {
    admitted: 0,
    refused: 0,
    exceeded: 0,
    ofGateways: { ...noTraffic },
    ofRegions: { ...noTraffic },
  };
}

function sum(one: SliceFigures, other: SliceFigures): SliceFigures {
  return {
    admitted: one.admitted + other.admitted,
    refused: one.refused + other.refused,
    exceeded: one.exceeded + other.exceeded,
    ofGateways: sumTraffic(one.ofGateways, other.ofGateways),
    ofRegions: sumTraffic(one.ofRegions, other.ofRegions),
  };
}

function sumTraffic(one: LinkFigures, other: LinkFigures): LinkFigures {
  const names = Object.keys(one) as (keyof LinkFigures)[];
  const sums = names.map((name) => [name, one[name] + other[name]] as const);
  return { ...one, ...Object.fromEntries(sums) };
}
