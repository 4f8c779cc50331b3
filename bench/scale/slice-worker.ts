/** Simulates some of the organisations in a thread of its own, and posts the sums. */
import { parentPort, workerData } from 'node:worker_threads';
import { SeededRandom } from '../../test/support/run/seeded-random.ts';
import type { Deployment } from './deployment.ts';
import { SimulatedOrganisation, type SliceTimes } from './simulated-organisation.ts';
import { noSlices } from './slice-figures.ts';

export interface SliceShare {
  readonly deployment: Deployment;
  readonly times: SliceTimes;
  readonly regions: number;
  /** Number of the first organisation, and distance to the next one. */
  readonly first: number;
  readonly step: number;
}

const { deployment, times, regions, first, step } = workerData as SliceShare;
const { organisations, keysOfOrganisation: keys, seed } = deployment;
const figures = noSlices();
// Organisations have nothing in common, so that one after the other needs the least memory.
for (let number = first; number < organisations; number += step) {
  const random = new SeededRandom(seed + 2 + number);
  await new SimulatedOrganisation({ keys, regions }, random, figures).run(times);
}
parentPort!.postMessage(figures);
