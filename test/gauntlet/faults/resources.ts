/** Takes file descriptors or memory away from a gateway. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Place } from '../scene/place.ts';
import type { FaultKind, FaultTarget } from './fault.ts';
import { exhaustedDescriptors, lockedBudgets, unansweredAtTarget } from './permits.ts';

interface GatewayTarget extends FaultTarget {
  readonly place: Place;
}

/** Descriptors that a gateway without further ones may still open. */
const spareDescriptors = 2;
/** Little more than half as much again as an idle gateway has (75 MB). */
const smallHeapMegabytes = 128;

const gateways: FaultKind<GatewayTarget>['targetsOf'] = (scene) =>
  scene.gateways.map((place) => ({ name: place.name, claims: [place.name], place }));

/** Sets the limit that counts, and leaves the one up to which it may be raised. */
function limitDescriptors(pid: number, count: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]);
}

function descriptorLimitOf(pid: number): number {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  return Number(/^Max open files +(\d+)/m.exec(limits)![1]);
}

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function restart(place: Place, heapMegabytes: number | null): Promise<void> {
  place.heapMegabytes = heapMegabytes;
  await place.stop();
  await place.start();
}

export const resourceFaults: readonly FaultKind<GatewayTarget>[] = [
  {
    name: 'descriptors exhausted',
    durationMs: [1_000, 5_000],
    permits: [exhaustedDescriptors, lockedBudgets],
    targetsOf: gateways,
    whyMissing: () => (hasPrlimit() ? null : 'the program prlimit is missing'),
    inject: async (_, { place: { pid } }) => {
      const before = descriptorLimitOf(pid);
      limitDescriptors(pid, readdirSync(`/proc/${pid}/fd`).length + spareDescriptors);
      return async () => limitDescriptors(pid, before);
    },
  },
  {
    name: 'small heap',
    durationMs: [4_000, 10_000],
    permits: [unansweredAtTarget],
    targetsOf: gateways,
    inject: async (_, { place }) => {
      await restart(place, smallHeapMegabytes);
      return () => restart(place, null);
    },
  },
];
