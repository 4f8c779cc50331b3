/** Simulates the slices of limits: what gateways exchange with the bank, organisation by organisation. */
import { z } from 'zod';
import {
  ExchangeAnswer,
  ExchangeRequest,
  WantedAnswer,
  WantedRequest,
} from '../../src/control-link/bank-messages.ts';
import {
  type Charge,
  CountedSlices,
  type Grant,
  Reservations,
  Shortage,
} from '../../src/ledger/account.ts';
import { type Limit, LimitReached, type UsageBound } from '../../src/ledger/limit.ts';
import type { BankAnswer, BankRequest, LimitBank } from '../../src/ledger/limit-bank.ts';
import { OrganisationSlices } from '../../src/ledger/organisation-slices.ts';
import type { Holder } from '../../src/store/usage/usage-holders.ts';
import type { WantedSlice } from '../../src/store/usage/wanted-slices.ts';
import { MemoryBank } from '../../test/support/ledger/memory-bank.ts';
import { recallWanted } from '../../test/support/ledger/recall-wanted.ts';
import { SeededRandom } from '../../test/support/run/seeded-random.ts';
import type { Deployment } from './deployment.ts';

export interface SliceFigures {
  /** Requests that were admitted, and refused although their limit is far. */
  admitted: number;
  refused: number;
  exchanges: number;
  /** Moves of slices in exchanges. */
  moves: number;
  /** Questions which units other gateways lack. */
  recalls: number;
  /** Bytes of requests and answers. */
  bytes: number;
  /** Limits of which more was used than they allow; must be 0. */
  exceeded: number;
}

/** Times in seconds. */
export interface SliceTimes {
  readonly seconds: number;
  /** The bank is away for this long after that. */
  readonly awaySeconds: number;
  /** Interval of the requests of one key. */
  readonly everySeconds: number;
}

/** As in src/ledger/admission-queue.ts. */
const [stepMs, recallMs] = [500, 200];
/** Gateways that one organisation uses, of the 500 of its region. */
const gatewaysOfOrganisation = 2;

const usedTokens = 1_000;
/** The budget of every tenth key, which is used up soon. */
const nearUnits = 10_500;
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

/** Counts the messages of the link, in the form in which it sends them. */
class CountingBank implements LimitBank {
  readonly bank: MemoryBank;
  readonly #figures: SliceFigures;

  constructor(bank: MemoryBank, figures: SliceFigures) {
    this.bank = bank;
    this.#figures = figures;
  }

  async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const answer = await this.bank.exchange(request);
    this.#figures.exchanges += 1;
    this.#figures.moves += request.moves.length;
    this.#count(z.encode(ExchangeRequest, request), z.encode(ExchangeAnswer, { answer }));
    return answer;
  }

  async listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]> {
    const counters = await this.bank.listWanted(holders);
    this.#figures.recalls += 1;
    this.#count(z.encode(WantedRequest, { holders }), z.encode(WantedAnswer, { counters }));
    return counters;
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  close(holder: Holder): Promise<void> {
    return this.bank.close(holder);
  }

  #count(...messages: readonly unknown[]): void {
    for (const message of messages) this.#figures.bytes += JSON.stringify(message).length;
  }
}

export async function simulateSlices(
  deployment: Deployment,
  times: SliceTimes,
): Promise<SliceFigures> {
  const random = new SeededRandom(deployment.seed + 2);
  const figures: SliceFigures = {
    admitted: 0,
    refused: 0,
    exchanges: 0,
    moves: 0,
    recalls: 0,
    bytes: 0,
    exceeded: 0,
  };
  // Organisations have nothing in common, so that one after the other needs the least memory.
  for (let number = 0; number < deployment.organisations; number += 1) {
    await new SimulatedOrganisation(deployment, random, figures).run(times);
  }
  return figures;
}

class SimulatedOrganisation {
  #nowMs = 0;
  readonly #bank: CountingBank;
  readonly #limits: readonly Limit[];
  /** Units that the providers have seen. */
  readonly #used = new Map<Limit, number>();
  readonly #gateways: readonly OrganisationSlices[];
  readonly #random: SeededRandom;
  readonly #figures: SliceFigures;

  constructor(deployment: Deployment, random: SeededRandom, figures: SliceFigures) {
    const organisationId = random.id();
    this.#random = random;
    this.#figures = figures;
    this.#bank = new CountingBank(new MemoryBank(() => this.#nowMs), figures);
    this.#limits = Array.from({ length: deployment.keysOfOrganisation }, () =>
      budgetOf(organisationId, random),
    );
    const clock = { now: () => this.#nowMs, monotonicMs: () => this.#nowMs };
    const sources = { bank: this.#bank, journal: null, clock };
    this.#gateways = Array.from(
      { length: gatewaysOfOrganisation },
      () => new OrganisationSlices(sources, organisationId),
    );
  }

  async run({ seconds, awaySeconds, everySeconds }: SliceTimes): Promise<void> {
    const everySteps = (everySeconds * 1_000) / stepMs;
    const phases = this.#limits.map(() => this.#random.below(everySteps));
    const endMs = (seconds + awaySeconds) * 1_000;
    let recalledMs = 0;
    for (let step = 0; this.#nowMs < endMs; step += 1) {
      this.#bank.bank.isAway = this.#nowMs >= seconds * 1_000;
      for (const [key, limit] of this.#limits.entries()) {
        if ((step + phases[key]!) % everySteps === 0) await this.#ask(limit);
      }
      for (const gateway of this.#gateways) {
        await gateway.exchange(this.#nowMs, true).catch(() => undefined);
        for (
          let atMs = recalledMs;
          atMs <= this.#nowMs && !this.#bank.bank.isAway;
          atMs += recallMs
        )
          await recallWanted(this.#bank, gateway);
      }
      while (recalledMs <= this.#nowMs) recalledMs += recallMs;
      this.#nowMs += stepMs;
    }
    this.#bank.bank.isAway = false;
    for (const gateway of this.#gateways) await gateway.exchange(this.#nowMs, true);
    for (const key of this.#used.keys()) {
      if (this.#used.get(key)! > key.limitUnits) this.#figures.exceeded += 1;
    }
  }

  /** Null when the limit is used up. */
  #reserve(reservations: Reservations, charges: readonly Charge[]): Grant | Shortage | null {
    try {
      return reservations.reserve(charges, bound, this.#nowMs, false);
    } catch (error) {
      if (error instanceof LimitReached) return null;
      throw error;
    }
  }

  async #ask(limit: Limit): Promise<void> {
    const gateway = this.#gateways[this.#random.below(this.#gateways.length)]!;
    const charges = [{ limit, slice: gateway.slice(limit) }];
    const reservations = new Reservations(new CountedSlices());
    for (let tries = 0; ; tries += 1) {
      const result = this.#reserve(reservations, charges);
      if (result === null) return;
      if (!(result instanceof Shortage)) {
        reservations.settle(usage);
        this.#figures.admitted += 1;
        this.#used.set(limit, (this.#used.get(limit) ?? 0) + usedTokens);
        return;
      }
      if (this.#bank.bank.isAway || tries === 2) {
        if (limit.limitUnits > nearUnits) this.#figures.refused += 1;
        return;
      }
      for (const [slice, need] of result.needs) slice.needs.add(need);
      await gateway.exchange(this.#nowMs, false);
      for (const [slice, need] of result.needs) slice.needs.delete(need);
    }
  }
}

function budgetOf(organisationId: string, random: SeededRandom): Limit {
  return {
    organisationId,
    subjectKind: 'api_key',
    subjectId: random.id(),
    windowStart: 0,
    endsAt: null,
    valueKey: '',
    type: 'tokens',
    limitUnits: random.below(10) === 0 ? nearUnits : 50_000_000,
    alertThresholdUnits: null,
    isRate: false,
    isHard: true,
    label: 'API key of an application',
  };
}
