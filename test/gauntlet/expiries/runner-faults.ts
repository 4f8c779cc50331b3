/** Kills and stops processes with jobs at random, and above all the one whose run expires keys. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../../src/store/connection/db.ts';
import * as jobRuns from '../../../src/store/sync/job-runs.ts';
import type { SeededRandom } from '../../support/run/seeded-random.ts';
import type { Place } from '../scene/place.ts';

interface RunnerFaultsTerms {
  readonly database: Database;
  readonly runners: readonly Place[];
  readonly random: SeededRandom;
  readonly ownerFaults: number;
  readonly tell: (line: string) => void;
}

const job = 'expire-keys';
const pollMs = 10;
/** A run goes on for up to this time before its owner is hit. */
const ownerProgressMs = 1_500;
const [killedMsLeast, killedMsMost] = [200, 3_000];
/** Shorter and longer than the lease of a run, so that a stopped owner resumes while its successor runs. */
const [stoppedMsLeast, stoppedMsMost] = [500, 150_000];
const [othersMsLeast, othersMsMost] = [1_000, 4_000];

export class RunnerFaults {
  readonly counts = { kills: 0, stops: 0, ownerKills: 0, ownerStops: 0 };
  readonly #terms: RunnerFaultsTerms;
  readonly #hit = new Set<Place>();
  readonly #healing: Promise<void>[] = [];
  readonly #runsOfHitOwners = new Set<string>();

  constructor(terms: RunnerFaultsTerms) {
    this.#terms = terms;
  }

  /** Injects faults until `work` has ended, and resolves once every process runs again. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const injecting = [this.#hitOwners(over.signal), this.#hitOthers(over.signal)];
    try {
      return await work();
    } finally {
      over.abort();
      await Promise.all(injecting);
      await Promise.all(this.#healing);
    }
  }

  /** Every second owner is killed, the others are stopped; each run is hit once. */
  async #hitOwners(over: AbortSignal): Promise<void> {
    const { database, random, ownerFaults, tell } = this.#terms;
    for (let count = 0; count < ownerFaults && !over.aborted; ) {
      await wait(pollMs);
      const run = await jobRuns.findLive(database.db, job);
      const name = run === undefined ? '' : `${run.bucket} ${run.attempt}`;
      if (run === undefined || this.#runsOfHitOwners.has(name)) continue;
      await wait(random.below(ownerProgressMs));
      const still = await jobRuns.findLive(database.db, job);
      const owner = still?.owner === run.owner ? this.#placeOf(run.owner) : undefined;
      if (owner === undefined || this.#hit.has(owner)) continue;
      this.#runsOfHitOwners.add(name);
      const isKill = count % 2 === 0;
      this.counts[isKill ? 'ownerKills' : 'ownerStops'] += 1;
      tell(`${owner.name}, which expires keys, is ${isKill ? 'killed' : 'stopped'}`);
      this.#strike(owner, isKill, stoppedMsMost);
      count += 1;
    }
  }

  async #hitOthers(over: AbortSignal): Promise<void> {
    const { database, runners, random } = this.#terms;
    while (!over.aborted) {
      await wait(random.integer(othersMsLeast, othersMsMost));
      const run = await jobRuns.findLive(database.db, job);
      const owner = run && this.#placeOf(run.owner);
      const others = runners.filter((place) => place !== owner && !this.#hit.has(place));
      // One more stays, so that somebody expires keys.
      if (others.length < 2) continue;
      const isKill = random.next() < 0.5;
      this.counts[isKill ? 'kills' : 'stops'] += 1;
      this.#strike(random.pick(others), isKill, random.integer(stoppedMsLeast, 10_000));
    }
  }

  /** The name of an owner contains the id of its process: `host-4711-1f2e3d4c`. */
  #placeOf(owner: string): Place | undefined {
    return this.#terms.runners.find(
      (place) => place.process !== null && owner.includes(`-${place.pid}-`),
    );
  }

  #strike(place: Place, isKill: boolean, stoppedMs: number): void {
    this.#hit.add(place);
    const { random } = this.#terms;
    const killedMs = random.integer(killedMsLeast, killedMsMost);
    const healing = isKill ? killAndStart(place, killedMs) : stopAndContinue(place, stoppedMs);
    this.#healing.push(healing.finally(() => this.#hit.delete(place)));
  }
}

async function killAndStart(place: Place, forMs: number): Promise<void> {
  await place.kill();
  await wait(forMs);
  await place.start();
}

async function stopAndContinue(place: Place, forMs: number): Promise<void> {
  const { pid } = place;
  process.kill(pid, 'SIGSTOP');
  await wait(forMs);
  process.kill(pid, 'SIGCONT');
}
