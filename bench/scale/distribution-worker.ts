/** Simulates the distribution of changes in a thread with as much memory as the full size needs, and posts the figures. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Deployment } from './deployment.ts';
import { type DistributionTimes, simulateDistribution } from './distribution.ts';

const { deployment, times } = workerData as { deployment: Deployment; times: DistributionTimes };
parentPort!.postMessage(await simulateDistribution(deployment, times));
