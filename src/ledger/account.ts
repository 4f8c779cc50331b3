/** Keeps the reservations of one request, and charges each of them once. */
import type { UnitsNeed } from '../store/usage/slice-moves.ts';
import type { Reservation } from './held-units.ts';
import {
  boundUnits,
  type Limit,
  LimitReached,
  outputWithin,
  type Usage,
  type UsageBound,
  usedUnits,
} from './limit.ts';
import type { Slice } from './slice.ts';
import type { OutageTerms } from './usable-slice.ts';

/** The granted output: as requested, or what the limits leave. */
export interface Grant {
  readonly outputTokens: number;
}

/** A limit of a request and the slice that is charged. */
export interface Charge {
  readonly limit: Limit;
  readonly slice: Slice;
}

/** Remaining units of a limit, as far as this process knows. */
export interface LimitLeft {
  readonly limit: Limit;
  readonly leftUnits: number;
}

/** The reason why a request is not admitted at once. */
export class Shortage {
  /** The first insufficient slice in the order of counters, and the least units that would suffice. */
  readonly lacking: Charge & { readonly unitsMin: number };
  /** Needs for all slices in the order of counters, also for sufficient ones, so that those are not returned meanwhile. */
  readonly needs: ReadonlyMap<Slice, UnitsNeed>;

  constructor(lacking: Shortage['lacking'], needs: Shortage['needs']) {
    this.lacking = lacking;
    this.needs = needs;
  }
}

/** How long the known usage of other processes is trusted. */
const knownForMs = 300;

/** Shared by all requests without reservations. */
const none: readonly never[] = [];

/** A counted request, and the holding of the slice in which it was counted. */
interface CountedRequest {
  readonly slice: Slice;
  readonly holding: number;
}

/** The slices in which a request has been counted; shared by all calls that are made for it. */
export class CountedSlices {
  list: readonly CountedRequest[] = none;
}

export class Reservations {
  #open: readonly (Charge & Reservation)[] = none;
  readonly #counts: CountedSlices;
  /** Charges of the last target. */
  #charges: readonly Charge[] = none;

  constructor(counts: CountedSlices) {
    this.#counts = counts;
  }

  /**
   * Reserves under all limits or under none; returns the shortage otherwise. With `takesLess`, less output than
   * requested is accepted.
   *
   * @throws LimitReached when the usage of others leaves too little
   * @throws PriceUnknown when a hard cost limit applies to a model without a price
   */
  reserve(
    charges: readonly Charge[],
    bound: UsageBound,
    nowMs: number,
    takesLess: boolean,
  ): Grant | Shortage {
    this.#charges = charges;
    const uncounted = this.#counts.list.length === 0 ? charges : this.#uncounted(charges);
    const outputTokens = takesLess ? affordable(uncounted, bound, nowMs) : bound.outputTokens;
    let isShort = false;
    for (const charge of uncounted) {
      const { limit, slice } = charge;
      if (!limit.isHard) continue;
      const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
      if (isOver(charge, unitsMin, nowMs)) {
        slice.known.refusals.note(limit, unitsMin);
        throw new LimitReached(limit, slice.lastKnownUsage, unitsMin);
      }
      if (slice.freeAt(nowMs) < boundUnits(limit, bound, outputTokens)) isShort = true;
    }
    if (isShort) return shortageOf(uncounted, bound, { outputTokens, nowMs });
    this.#charge(uncounted, bound, { outputTokens, nowMs });
    return { outputTokens };
  }

  /** Slices of the last target of which more may be used than the journal says; null for none. */
  beyondPromise(): readonly Slice[] | null {
    if (!this.#charges.some(({ slice }) => slice.isBeyondPromise)) return null;
    return this.#charges.map(({ slice }) => slice).filter((slice) => slice.isBeyondPromise);
  }

  #charge(
    uncounted: readonly Charge[],
    bound: UsageBound,
    { outputTokens, nowMs }: Grant & { readonly nowMs: number },
  ): void {
    const counted = this.#counts.list.slice();
    const open = this.#open.slice();
    for (const { limit, slice } of uncounted) {
      if (limit.type === 'requests') counted.push({ slice, holding: slice.charge(1, nowMs) });
      else {
        const units = limit.isHard ? boundUnits(limit, bound, outputTokens) : 0;
        const holding = slice.reserve(units, nowMs);
        open.push({ limit, slice, units, holding, isDrawn: false });
      }
    }
    this.#counts.list = counted;
    this.#open = open;
  }

  /**
   * Reserves while the bank is away: from slices, and under limits that lack units from what the process may grant itself.
   * Returns null when that does not suffice, else the slices that granted themselves units of budgets.
   */
  draw(
    charges: readonly Charge[],
    bound: UsageBound,
    nowMs: number,
    terms: OutageTerms,
  ): readonly Slice[] | null {
    this.#charges = charges;
    const uncounted = this.#uncounted(charges);
    const lacking = uncounted.filter(
      ({ limit, slice }) =>
        limit.isHard && slice.freeAt(nowMs) < boundUnits(limit, bound, bound.outputTokens),
    );
    const suffices = ({ limit, slice }: Charge): boolean =>
      boundUnits(limit, bound, bound.outputTokens) <= slice.drawable(terms);
    if (!lacking.every(suffices)) return null;
    const covered = uncounted.filter((charge) => !lacking.includes(charge));
    this.#charge(covered, bound, { outputTokens: bound.outputTokens, nowMs });
    for (const charge of lacking) this.#draw(charge, bound);
    return lacking.filter(({ limit }) => !limit.isRate).map(({ slice }) => slice);
  }

  #draw({ limit, slice }: Charge, bound: UsageBound): void {
    const drawn = slice.draw(boundUnits(limit, bound, bound.outputTokens));
    if (limit.type !== 'requests') this.#open = [...this.#open, { limit, slice, ...drawn }];
    else {
      slice.settle(drawn, 1);
      this.#counts.list = [...this.#counts.list, { slice, holding: drawn.holding }];
    }
  }

  /** Charges under which the request has not been counted before. */
  #uncounted(charges: readonly Charge[]): readonly Charge[] {
    const { list } = this.#counts;
    return charges.filter(({ slice }) => !list.some((one) => one.slice === slice));
  }

  /** Remaining units of the limits of the last target, as far as lastKnownUsage. */
  left(): LimitLeft[] {
    const left: LimitLeft[] = [];
    for (const { limit, slice } of this.#charges) {
      const { lastKnownUsage } = slice;
      if (lastKnownUsage === null) continue;
      const leftUnits = limit.limitUnits - lastKnownUsage.usedUnits - lastKnownUsage.reservedUnits;
      left.push({ limit, leftUnits: Math.max(0, leftUnits) });
    }
    return left;
  }

  /** Limits that reserve tokens or cost for the last target. */
  charged(): readonly Limit[] {
    return this.#open.map(({ limit }) => limit);
  }

  /** Charges the usage of the target; further targets may follow. */
  settle(usage: Usage): void {
    for (const one of this.#open) one.slice.settle(one, usedUnits(one.limit, usage));
    this.#open = none;
  }

  /** Releases the reservations without a charge. */
  release(): void {
    for (const one of this.#open) one.slice.settle(one, 0);
    this.#open = none;
  }

  /** Uncounts a request that was never sent. */
  uncount(): void {
    for (const { slice, holding } of this.#counts.list) slice.refund(1, holding);
    this.#counts.list = none;
  }
}

/** An order of counters that is the same in all processes. */
function byCounter(
  { slice: { counter: one } }: Charge,
  { slice: { counter: other } }: Charge,
): number {
  return Buffer.compare(one.id, other.id) || one.windowStart - other.windowStart;
}

/** The shortage of hard limits, one of which at least lacks units for this output. */
function shortageOf(
  charges: readonly Charge[],
  bound: UsageBound,
  { outputTokens, nowMs }: Grant & { readonly nowMs: number },
): Shortage {
  const hard = charges.filter(({ limit }) => limit.isHard).toSorted(byCounter);
  const lacking = hard.find(
    ({ limit, slice }) => slice.freeAt(nowMs) < boundUnits(limit, bound, outputTokens),
  )!;
  const unitsMin = boundUnits(lacking.limit, bound, bound.outputTokensMin);
  return new Shortage({ ...lacking, unitsMin }, needsOf(hard, bound));
}

/** Returns the units that each limit needs, with the least and with the requested output. */
function needsOf(charges: readonly Charge[], bound: UsageBound): ReadonlyMap<Slice, UnitsNeed> {
  const needs = new Map<Slice, UnitsNeed>();
  for (const { limit, slice } of charges) {
    const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
    const units = Math.max(unitsMin, boundUnits(limit, bound, bound.outputTokens));
    needs.set(slice, { units, unitsMin });
  }
  return needs;
}

/** Output that every limit covers, but not less than is useful. */
function affordable(charges: readonly Charge[], bound: UsageBound, nowMs: number): number {
  let output = bound.outputTokens;
  for (const { limit, slice } of charges) {
    if (!limit.isHard || limit.type === 'requests') continue;
    output = Math.min(output, outputWithin(limit, bound, slice.freeAt(nowMs)));
  }
  return Math.max(output, bound.outputTokensMin);
}

/** Whether the request would be rejected even if others returned all idle units. */
function isOver({ limit, slice }: Charge, unitsMin: number, nowMs: number): boolean {
  if (limit.limitUnits < unitsMin) return true;
  const { lastKnownUsage } = slice;
  if (lastKnownUsage === null || nowMs - lastKnownUsage.atMs > knownForMs) return false;
  // Units in the slice are within the limit, whatever older values say.
  if (slice.freeAt(nowMs) >= unitsMin) return false;
  return lastKnownUsage.usedUnits + unitsMin > limit.limitUnits;
}
