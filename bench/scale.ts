/** Simulates 10,000 gateways, a million keys and 20 regions with the protocols of the product, and prints how the traffic grows. */
import type { Member, Row } from './harness.ts';
import { type Deployment, reduced } from './scale/deployment.ts';
import type { DistributionFigures, DistributionTimes } from './scale/distribution.ts';
import { runThread } from './scale/run-thread.ts';
import { simulateSlices } from './scale/slice-traffic.ts';

const times = { seconds: 45, cutSeconds: 120, afterSeconds: 45 };
/** Runs that are compared with each other; their absolute figures are of no interest. */
const shortTimes = { seconds: 20, cutSeconds: 0, afterSeconds: 0 };
const sliceTimes = { seconds: 120, awaySeconds: 60, everySeconds: 10 };

export const member: Member = {
  name: 'scale: a simulation of 10,000 gateways, a million keys and 20 regions',
  run: async (scale, { stages }): Promise<Row[]> => {
    const deployment = reduced(scale);
    const { gateways, organisations, keysOfOrganisation, regions } = deployment;
    process.stdout.write(
      `  ${gateways} gateways, ${organisations * keysOfOrganisation} keys of ${organisations} organisations, ` +
        `${regions} regions, ${deployment.changesPerSecond} change a second\n`,
    );
    const runs = (stage: string): boolean => stages?.includes(stage) ?? true;
    // One processor simulates the distribution, while all simulate slices. Time is simulated, so that figures are the same.
    const [distribution, slices] = await Promise.all([
      distributionStages(deployment, runs),
      sliceStages(deployment, runs),
    ]);
    return [...distribution, ...slices];
  },
};

type Runs = (stage: string) => boolean;

async function distributionStages(deployment: Deployment, runs: Runs): Promise<Row[]> {
  const rows: Row[] = [];
  if (runs('changes')) rows.push(...distributionRows(await distribute(deployment, times)));
  if (runs('growth')) rows.push(...(await growthRows(deployment)));
  return rows;
}

async function sliceStages(deployment: Deployment, runs: Runs): Promise<Row[]> {
  const rows: Row[] = [];
  if (runs('slices')) rows.push(...(await sliceRows(deployment)));
  if (runs('regions')) rows.push(...(await regionRows(deployment)));
  return rows;
}

function distribute(deployment: Deployment, times: DistributionTimes) {
  const data = { deployment, times };
  return runThread<DistributionFigures>('distribution-worker.ts', data);
}

function distributionRows(found: DistributionFigures): Row[] {
  const near = found.propagationMs[0]!;
  const all = found.propagationMs.flat().toSorted((one, other) => one - other);
  const row = (metric: string, ratio: number, aim: number | null = null): Row => {
    return { metric, ratio, aim };
  };
  return [
    row('statements of the database a second', found.statements),
    row('requests of gateways a second', found.requests),
    row('kB a second to all gateways', found.bytes / 1_000),
    row('kB to one gateway for each change', found.bytesOfChange / 1_000),
    row('commit to in force, nearest region, p50, s', share(near, 0.5)),
    row('commit to in force, nearest region, p99, s', share(near, 0.99)),
    row('commit to in force, all regions, p50, s', share(all, 0.5)),
    row('commit to in force, all regions, p99, s', share(all, 0.99), 5),
    row('commit to in force, all regions, slowest, s', share(all, 1)),
    row('a region current again after a cut of 2 min, s', found.convergedMs / 1_000),
  ];
}

function share(sorted: readonly number[], part: number): number {
  return sorted[Math.ceil((sorted.length - 1) * part)]! / 1_000;
}

/** Ratios of a deployment with twice as much of one thing. */
async function growthRows(deployment: Deployment): Promise<Row[]> {
  const quarter = (count: number): number => Math.max(40, Math.round(count / 4));
  const base: Deployment = {
    ...deployment,
    gateways: quarter(deployment.gateways),
    organisations: quarter(deployment.organisations),
  };
  const before = await distribute(base, shortTimes);
  const doubled: readonly (readonly [string, Partial<Deployment>])[] = [
    ['gateways', { gateways: 2 * base.gateways }],
    ['organisations and keys', { organisations: 2 * base.organisations }],
    ['changes', { changesPerSecond: 2 * base.changesPerSecond }],
  ];
  const rows: Row[] = [];
  for (const [name, more] of doubled) {
    const after = await distribute({ ...base, ...more }, shortTimes);
    const ratio = (read: (found: DistributionFigures) => number) => read(after) / read(before);
    const metrics = [
      {
        metric: `twice the ${name}: statements`,
        ratio: ratio((found) => found.statements),
        aim: 2,
      },
      { metric: `twice the ${name}: bytes`, ratio: ratio((found) => found.bytes), aim: 2.2 },
    ];
    rows.push(...metrics);
  }
  return rows;
}

async function sliceRows(deployment: Deployment): Promise<Row[]> {
  const found = await simulateSlices(deployment, sliceTimes, 0);
  const { seconds } = sliceTimes;
  const { exchanges, moves, recalls, bytes } = found.ofGateways;
  const requests = requestsOfKeys(deployment);
  return [
    { metric: 'requests of keys a second', ratio: requests.ofSecond, aim: null },
    { metric: 'exchanges with the bank a second', ratio: exchanges / seconds, aim: null },
    { metric: 'moves of slices for each request', ratio: moves / found.admitted, aim: null },
    {
      metric: 'questions for units that others lack a second',
      ratio: recalls / seconds,
      aim: null,
    },
    { metric: 'kB a second with the bank', ratio: bytes / seconds / 1_000, aim: null },
    {
      metric: 'bank away for 1 min: share of refused requests',
      ratio: found.refused / requests.whileAway,
      aim: null,
    },
    { metric: 'limits of which more was used', ratio: found.exceeded, aim: 0 },
  ];
}

/** Each organisation uses gateways of two regions, which borrow from home. */
async function regionRows(deployment: Deployment): Promise<Row[]> {
  const found = await simulateSlices(deployment, sliceTimes, 2);
  const { seconds } = sliceTimes;
  const { ofGateways, ofRegions } = found;
  const borrowed = ofRegions.units / ofRegions.grants;
  const lent = ofGateways.units / ofGateways.grants;
  return [
    {
      metric: 'regions: exchanges with home a second',
      ratio: ofRegions.exchanges / seconds,
      aim: null,
    },
    {
      metric: 'regions: exchanges with home for each of a gateway',
      ratio: ofRegions.exchanges / ofGateways.exchanges,
      aim: null,
    },
    {
      metric: 'regions: questions to home for units a second',
      ratio: ofRegions.recalls / seconds,
      aim: null,
    },
    {
      metric: 'regions: kB a second with home',
      ratio: ofRegions.bytes / seconds / 1_000,
      aim: null,
    },
    {
      metric: 'regions: units borrowed at once for each unit lent',
      ratio: borrowed / lent,
      aim: null,
    },
    {
      metric: 'regions: home away for 1 min: share of refused requests',
      ratio: found.refused / requestsOfKeys(deployment).whileAway,
      aim: null,
    },
    { metric: 'regions: limits of which more was used', ratio: found.exceeded, aim: 0 },
  ];
}

function requestsOfKeys({ organisations, keysOfOrganisation }: Deployment) {
  const { everySeconds, awaySeconds } = sliceTimes;
  const ofSecond = (organisations * keysOfOrganisation) / everySeconds;
  return { ofSecond, whileAway: ofSecond * awaySeconds };
}
