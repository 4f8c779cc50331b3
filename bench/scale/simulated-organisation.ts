/** Simulates the gateways of one organisation under budgets, with the slices of the product, at home or in regions. */
import {
  type Charge,
  CountedSlices,
  type Grant,
  Reservations,
  Shortage,
} from '../../src/ledger/account.ts';
import { type Limit, LimitReached, type UsageBound } from '../../src/ledger/limit.ts';
import type { LimitBank } from '../../src/ledger/limit-bank.ts';
import { OrganisationSlices } from '../../src/ledger/organisation-slices.ts';
import { MemoryBank } from '../../test/support/ledger/memory-bank.ts';
import { recallWanted } from '../../test/support/ledger/recall-wanted.ts';
import type { SeededRandom } from '../../test/support/run/seeded-random.ts';
import { CountingBank } from './counting-bank.ts';
import { SimulatedRegion, whileReached } from './simulated-region.ts';
import type { SliceFigures } from './slice-figures.ts';

/** Times in seconds. */
export interface SliceTimes {
  readonly seconds: number;
  /** The bank of home is away for this long after that. */
  readonly awaySeconds: number;
  /** Interval of the requests of one key. */
  readonly everySeconds: number;
}

export interface OrganisationPlan {
  readonly keys: number;
  /** Regions whose gateways the organisation uses; 0: gateways use the bank of home directly. */
  readonly regions: number;
}

/** As in src/ledger/admission-queue.ts. */
const [stepMs, recallMs] = [500, 200];
/** Gateways that one organisation uses, of the 500 of its region. */
const gatewaysOfPlace = 2;

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

interface Gateway {
  readonly bank: LimitBank;
  readonly slices: OrganisationSlices;
  /** Whether its bank does not answer. */
  readonly isCutOff: () => boolean;
}

export class SimulatedOrganisation {
  #nowMs = 0;
  readonly #home: MemoryBank;
  readonly #regions: readonly SimulatedRegion[];
  readonly #limits: readonly Limit[];
  /** Units that the providers have seen. */
  readonly #used = new Map<Limit, number>();
  readonly #gateways: readonly Gateway[];
  readonly #random: SeededRandom;
  readonly #figures: SliceFigures;

  constructor(plan: OrganisationPlan, random: SeededRandom, figures: SliceFigures) {
    const organisationId = random.id();
    const now = (): number => this.#nowMs;
    this.#random = random;
    this.#figures = figures;
    this.#home = new MemoryBank(now);
    this.#limits = Array.from({ length: plan.keys }, () => budgetOf(organisationId, random));
    this.#regions = Array.from({ length: plan.regions }, () => {
      const holder = Buffer.from(random.id().replaceAll('-', ''), 'hex');
      const home = new CountingBank(this.#home, figures.ofRegions);
      return new SimulatedRegion(home, { organisationId, holder }, now);
    });
    const banks = plan.regions === 0 ? [this.#home] : this.#regions;
    this.#gateways = banks.flatMap((place) =>
      Array.from({ length: gatewaysOfPlace }, () => {
        const bank = new CountingBank(place, figures.ofGateways);
        const sources = { bank, journal: null, clock: { now, monotonicMs: now } };
        const slices = new OrganisationSlices(sources, organisationId);
        return { bank, slices, isCutOff: () => place.isAway };
      }),
    );
  }

  async run({ seconds, awaySeconds, everySeconds }: SliceTimes): Promise<void> {
    const everySteps = (everySeconds * 1_000) / stepMs;
    const phases = this.#limits.map(() => this.#random.below(everySteps));
    const endMs = (seconds + awaySeconds) * 1_000;
    let recalledMs = 0;
    for (let step = 0; this.#nowMs < endMs; step += 1) {
      this.#home.isAway = this.#nowMs >= seconds * 1_000;
      for (const [key, limit] of this.#limits.entries()) {
        if ((step + phases[key]!) % everySteps === 0) await this.#ask(limit);
      }
      for (const region of this.#regions) await region.turn();
      let recalls = 0;
      for (; recalledMs <= this.#nowMs; recalledMs += recallMs) recalls += 1;
      for (const gateway of this.#gateways) await this.#exchange(gateway, recalls);
      this.#nowMs += stepMs;
    }
    this.#home.isAway = false;
    for (const { slices } of this.#gateways) await slices.exchange(this.#nowMs, true);
    for (const key of this.#used.keys()) {
      if (this.#used.get(key)! > key.limitUnits) this.#figures.exceeded += 1;
    }
  }

  async #exchange({ bank, slices, isCutOff }: Gateway, recalls: number): Promise<void> {
    await whileReached(slices.exchange(this.#nowMs, true));
    for (let count = 0; count < recalls && !isCutOff(); count += 1)
      await recallWanted(bank, slices);
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
    const { slices, isCutOff } = this.#gateways[this.#random.below(this.#gateways.length)]!;
    const charges = [{ limit, slice: slices.slice(limit) }];
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
      if (isCutOff() || tries === 2) {
        if (limit.limitUnits > nearUnits) this.#figures.refused += 1;
        return;
      }
      for (const [slice, need] of result.needs) slice.needs.add(need);
      await slices.exchange(this.#nowMs, false);
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
