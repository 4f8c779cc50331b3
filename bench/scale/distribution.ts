/** Simulates how changes of the configuration reach linked gateways in all regions, also after a region was cut off. */
import { DecodedParts } from '../../src/snapshot/reading/decoded-parts.ts';
import { readUpdate } from '../../src/snapshot/reading/read-update.ts';
import { SeededRandom } from '../../test/support/run/seeded-random.ts';
import { SimulatedControlPlane } from './control-plane.ts';
import { controlPlanes, type Deployment, roundTripMs } from './deployment.ts';
import { LinkedReader, type ReaderFigures, type SharedContents } from './linked-reader.ts';
import { PublishedSnapshot } from './published-snapshot.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface DistributionFigures {
  /** Statements a second of the database of the control plane. */
  readonly statements: number;
  /** Requests a second of all gateways to the control plane. */
  readonly requests: number;
  /** Bytes a second to all gateways. */
  readonly bytes: number;
  /** Bytes to one gateway for a change, as heads combine changes. */
  readonly bytesOfChange: number;
  /** Milliseconds from commit to in force, by region, the nearest first; sorted. */
  readonly propagationMs: readonly (readonly number[])[];
  /** Milliseconds from the end of a cut until the last gateway of the region was current. */
  readonly convergedMs: number;
}

export interface DistributionTimes {
  readonly seconds: number;
  /** The last region is cut off for this time after that, and then watched. */
  readonly cutSeconds: number;
  readonly afterSeconds: number;
}

/** Time in which all gateways start, and time before a cut in which changes do not count. */
const [startMs, settleMs] = [5_000, 10_000];

export async function simulateDistribution(
  deployment: Deployment,
  { seconds, cutSeconds, afterSeconds }: DistributionTimes,
): Promise<DistributionFigures> {
  const { gateways, regions, changesPerSecond, organisations, seed } = deployment;
  const clock = new VirtualClock();
  const random = new SeededRandom(seed + 1);
  const snapshot = new PublishedSnapshot(deployment);
  const control = new SimulatedControlPlane(clock, snapshot, controlPlanes);
  const { keys } = snapshot;
  const first = await readUpdate(snapshot.sealedHead, {
    keys,
    held: null,
    decoded: new DecodedParts(0),
    fetch: async () => snapshot.objects,
    onDamage: null,
  });
  const contents: SharedContents = new Map(first.changed.map((one) => [one.entry.etag, one]));
  const figures: ReaderFigures = { bytes: 0, updates: 0 };
  const propagationMs: number[][] = Array.from({ length: regions }, () => []);
  const lastRegion = regions - 1;
  const cut = { isCut: false, endedMs: Number.POSITIVE_INFINITY, convergedMs: 0 };
  const behind = new Set<number>();
  for (let gateway = 0; gateway < gateways; gateway += 1) {
    const region = gateway % regions;
    const reader = new LinkedReader(
      {
        clock,
        control,
        keys,
        contents,
        figures,
        replica: random.below(controlPlanes),
        roundTripMs: roundTripMs(region, regions),
        isCut: () => cut.isCut && region === lastRegion,
        onUpdate: (times, builtAtMs) => {
          for (const changedAtMs of times) {
            const isCounted = changedAtMs > startMs && changedAtMs < seconds * 1_000 - settleMs;
            if (isCounted) propagationMs[region]!.push(clock.nowMs - changedAtMs);
          }
          if (builtAtMs < cut.endedMs || !behind.delete(gateway)) return;
          cut.convergedMs = clock.nowMs - cut.endedMs;
        },
      },
      first,
    );
    if (region === lastRegion) behind.add(gateway);
    void start(clock, random, reader);
  }
  void control.runBuilder();
  void makeChanges(clock, control, random, { changesPerSecond, organisations });
  await clock.runUntil(seconds * 1_000);
  const { stateReads, objectReads, builds, requests } = control.figures;
  const found = {
    statements: (stateReads + objectReads + builds) / seconds,
    requests: requests / seconds,
    bytes: figures.bytes / seconds,
    bytesOfChange: figures.bytes / gateways / (seconds * changesPerSecond),
  };
  cut.isCut = true;
  await clock.runUntil((seconds + cutSeconds) * 1_000);
  cut.isCut = false;
  cut.endedMs = clock.nowMs;
  await clock.runUntil((seconds + cutSeconds + afterSeconds) * 1_000);
  if (afterSeconds > 0 && behind.size > 0)
    throw new Error(`${behind.size} gateways are behind after the cut`);
  return {
    ...found,
    propagationMs: propagationMs.map((times) => times.toSorted((one, other) => one - other)),
    convergedMs: cut.convergedMs,
  };
}

/** Gateways do not begin at the same moment. */
async function start(
  clock: VirtualClock,
  random: SeededRandom,
  reader: LinkedReader,
): Promise<void> {
  await clock.sleep(random.next() * startMs);
  await reader.run();
}

async function makeChanges(
  clock: VirtualClock,
  control: SimulatedControlPlane,
  random: SeededRandom,
  { changesPerSecond, organisations }: Pick<Deployment, 'changesPerSecond' | 'organisations'>,
): Promise<void> {
  for (;;) {
    await clock.sleep((-Math.log(1 - random.next()) * 1_000) / changesPerSecond);
    control.change(random.below(organisations));
  }
}
