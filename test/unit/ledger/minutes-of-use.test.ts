/** Simulates processes on one budget for hours: what they hold, how long they go on without the bank, who gets the last unit. */
import { describe, expect, it } from 'vitest';
import { CountedSlices, Reservations, Shortage } from '../../../src/ledger/account.ts';
import { type Limit, LimitReached, type UsageBound } from '../../../src/ledger/limit.ts';
import { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import { MemoryBank } from '../../support/ledger/memory-bank.ts';
import { recallWanted } from '../../support/ledger/recall-wanted.ts';

const organisationId = newId();

function budget(limitUnits: number): Limit {
  return {
    organisationId,
    subjectKind: 'api_key',
    subjectId: newId(),
    windowStart: 0,
    endsAt: null,
    valueKey: '',
    type: 'tokens',
    limitUnits,
    alertThresholdUnits: null,
    isRate: false,
    isHard: true,
    label: 'API key ci',
  };
}

/** Each request uses half of the tokens that it reserves. */
const usedTokens = 10;
const bound: UsageBound = {
  inputTokens: 2 * usedTokens,
  likelyInputTokens: 2 * usedTokens,
  outputTokens: 0,
  outputTokensMin: 0,
  price: null,
};
const usage = {
  inputTokens: usedTokens,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  costUnits: 0,
};

const stepMs = 500;

class Simulation {
  nowMs = 0;
  readonly bank = new MemoryBank(() => this.nowMs);
  readonly processes: OrganisationSlices[];
  readonly limit: Limit;

  constructor(processes: number, limitUnits: number) {
    this.limit = budget(limitUnits);
    this.processes = Array.from({ length: processes }, () => this.newProcess());
  }

  newProcess(): OrganisationSlices {
    const clock = { now: () => this.nowMs, monotonicMs: () => this.nowMs };
    return new OrganisationSlices({ bank: this.bank, journal: null, clock }, organisationId);
  }

  /** Sends one request; false when the units that the process can get do not suffice. */
  async ask(process: OrganisationSlices): Promise<boolean> {
    try {
      return await this.#ask(process);
    } catch (error) {
      if (error instanceof LimitReached) return false;
      throw error;
    }
  }

  async #ask(process: OrganisationSlices): Promise<boolean> {
    const charges = [{ limit: this.limit, slice: process.slice(this.limit) }];
    const reservations = new Reservations(new CountedSlices());
    for (let tries = 0; ; tries += 1) {
      const result = reservations.reserve(charges, bound, this.nowMs, false);
      if (!(result instanceof Shortage)) {
        reservations.settle(usage);
        return true;
      }
      if (this.bank.isAway || tries === 2) return false;
      for (const [slice, need] of result.needs) slice.needs.add(need);
      await process.exchange(this.nowMs, true);
      for (const other of this.processes) {
        if (tries === 0 || other === process) continue;
        await recallWanted(this.bank, other);
        await other.exchange(this.nowMs, false);
      }
      if (tries > 0) await process.exchange(this.nowMs, true);
      for (const [slice, need] of result.needs) slice.needs.delete(need);
    }
  }

  /** Every process sends a request in each step; returns how many were not admitted. */
  async run(seconds: number, everyMs = stepMs): Promise<number> {
    let refused = 0;
    for (const endMs = this.nowMs + seconds * 1_000; this.nowMs < endMs; this.nowMs += stepMs) {
      for (const process of this.processes) {
        if (this.nowMs % everyMs === 0 && !(await this.ask(process))) refused += 1;
        await process.exchange(this.nowMs, true).catch(() => undefined);
      }
    }
    return refused;
  }

  get counter() {
    const [counter] = this.bank.counters.values();
    return counter!;
  }

  get unusedUnits(): number {
    return this.limit.limitUnits - this.counter.used_units;
  }
}

const usedPerMinute = (usedTokens * 60_000) / stepMs;

describe('a process far from the limit', () => {
  it('holds ten minutes of its recent use, and admits all requests while the bank is away for as long', async () => {
    const simulation = new Simulation(2, 10_000_000);
    await simulation.run(3_600);
    const { reserved_units: held } = simulation.counter;
    expect(held / (2 * usedPerMinute)).toBeGreaterThan(9);
    expect(held / (2 * usedPerMinute)).toBeLessThan(12);
    simulation.bank.isAway = true;
    expect(await simulation.run(9 * 60)).toBe(0);
    simulation.bank.isAway = false;
    await simulation.run(60);
    expect(simulation.counter.used_units).toBe(2 * 70 * usedPerMinute);
  });

  it('goes on without the bank for a key that sends a request every half a minute', async () => {
    const simulation = new Simulation(1, 10_000_000);
    await simulation.run(3_600, 30_000);
    simulation.bank.isAway = true;
    expect(await simulation.run(8 * 60, 30_000)).toBe(0);
  });

  it('stops using its units before their lease ends', async () => {
    const simulation = new Simulation(1, 100_000_000);
    await simulation.run(1_800);
    simulation.bank.isAway = true;
    expect(await simulation.run(30 * 60)).toBeGreaterThan(0);
    const [process] = simulation.processes;
    expect(process!.slice(simulation.limit).freeAt(simulation.nowMs)).toBe(0);
  });

  it('returns what it holds when it has not been used for ten minutes', async () => {
    const simulation = new Simulation(1, 10_000_000);
    await simulation.run(1_800);
    await simulation.run(11 * 60, Number.POSITIVE_INFINITY);
    expect(simulation.counter.reserved_units).toBe(0);
  });
});

it('holds no more than it has used, so that a process that dies again and again charges at most twice its use', async () => {
  const simulation = new Simulation(1, 100_000_000);
  for (const seconds of [2, 10, 60]) {
    simulation.processes.splice(0, 1, simulation.newProcess());
    const before = simulation.counter?.used_units ?? 0;
    const held = simulation.counter?.reserved_units ?? 0;
    await simulation.run(seconds);
    const used = simulation.counter.used_units - before;
    expect(simulation.counter.reserved_units - held).toBeLessThanOrEqual(used + 4 * usedTokens);
  }
});

describe('a limit that is near', () => {
  it('leaves three quarters of what is unused with the bank, or nearly', async () => {
    const simulation = new Simulation(4, 100_000);
    while (simulation.nowMs === 0 || simulation.unusedUnits > 2_000) {
      await simulation.run(10);
      const { reserved_units: held } = simulation.counter;
      expect(held).toBeLessThan(0.3 * simulation.unusedUnits + 4 * 2 * usedTokens);
    }
  });

  it('is used to the last unit, whoever asks for it', async () => {
    const simulation = new Simulation(3, 30_000);
    while ((await simulation.run(5)) === 0);
    const [first] = simulation.processes;
    while (await simulation.ask(first!));
    for (const process of simulation.processes) await process.exchange(simulation.nowMs, true);
    expect(simulation.unusedUnits).toBeGreaterThanOrEqual(0);
    expect(simulation.unusedUnits).toBeLessThan(2 * usedTokens);
  });
});
