/** Knows what one request has been admitted for, and charges what it used: each reservation once. */
import type { UnitsNeed } from '../store/usage/usage-slices.ts';
import {
  boundUnits,
  type Limit,
  LimitReached,
  outputWithin,
  type Usage,
  type UsageBound,
  usedUnits,
} from './limit.ts';
import type { Reservation, Slice } from './slice.ts';

/** What a request may have: as much output as was asked for, or what its limits leave. */
export interface Grant {
  readonly outputTokens: number;
}

/** A limit that a request is to be admitted under, and the slice it is charged to. */
export interface Charge {
  readonly limit: Limit;
  readonly slice: Slice;
}

/** What is left of a limit, as far as this process knows. */
export interface LimitLeft {
  readonly limit: Limit;
  readonly leftUnits: number;
}

/** Why a request is not admitted at once. */
export class Shortage {
  /** The first whose slice does not suffice, and the least that would. */
  readonly lacking: Charge & { readonly unitsMin: number };
  /** What it needs of every slice: of one that suffices now, too, so that this is not given back meanwhile. */
  readonly needs: ReadonlyMap<Slice, UnitsNeed>;

  constructor(lacking: Shortage['lacking'], needs: Shortage['needs']) {
    this.lacking = lacking;
    this.needs = needs;
  }
}

/** How long what is known of others' use is relied on. */
const knownForMs = 300;

/** Shared by all requests for which nothing is reserved, or counted. */
const none: readonly never[] = [];

/** A request that has been counted, and the holding of the slice that it was counted in. */
interface Counted {
  readonly slice: Slice;
  readonly holding: number;
}

/** The reservations of one request, and the requests it has been counted as. */
export class Reservations {
  #open: readonly (Charge & Reservation)[] = none;
  #counted: readonly Counted[] = none;
  /** Of the target that was asked for last. */
  #charges: readonly Charge[] = none;

  /**
   * Reserves under all limits or under none. Yields what is lacking otherwise; `takesLess` says
   * that less output will do, where the caller can use it.
   *
   * @throws LimitReached where what others have used leaves too little
   * @throws PriceUnknown where a hard limit of cost meets a model without a price
   */
  reserve(
    charges: readonly Charge[],
    bound: UsageBound,
    nowMs: number,
    takesLess: boolean,
  ): Grant | Shortage {
    this.#charges = charges;
    const fresh = this.#counted.length === 0 ? charges : this.#uncounted(charges);
    const outputTokens = takesLess ? affordable(fresh, bound, nowMs) : bound.outputTokens;
    let lacking: Shortage['lacking'] | null = null;
    for (const charge of fresh) {
      const { limit, slice } = charge;
      if (!limit.isHard) continue;
      const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
      if (isOver(charge, unitsMin, nowMs)) throw new LimitReached(limit);
      if (slice.freeAt(nowMs) >= boundUnits(limit, bound, outputTokens)) continue;
      lacking ??= { ...charge, unitsMin };
    }
    if (lacking !== null) return new Shortage(lacking, needsOf(fresh, bound));
    this.#charge(fresh, bound, { outputTokens, nowMs });
    return { outputTokens };
  }

  #charge(
    fresh: readonly Charge[],
    bound: UsageBound,
    { outputTokens, nowMs }: Grant & { readonly nowMs: number },
  ): void {
    const counted = this.#counted.slice();
    const open = this.#open.slice();
    for (const { limit, slice } of fresh) {
      if (limit.type === 'requests') counted.push({ slice, holding: slice.charge(1, nowMs) });
      else {
        const units = limit.isHard ? boundUnits(limit, bound, outputTokens) : 0;
        open.push({ limit, slice, units, holding: slice.reserve(units, nowMs) });
      }
    }
    this.#counted = counted;
    this.#open = open;
  }

  /** Those that the request has not been counted under before. */
  #uncounted(charges: readonly Charge[]): readonly Charge[] {
    return charges.filter(({ slice }) => !this.#counted.some((one) => one.slice === slice));
  }

  /** Of the limits of the target that was asked for last, those that somebody has looked at. */
  left(): LimitLeft[] {
    const left: LimitLeft[] = [];
    for (const { limit, slice } of this.#charges) {
      const { known } = slice;
      if (known === null) continue;
      const leftUnits = limit.limitUnits - known.usedUnits - known.reservedUnits;
      left.push({ limit, leftUnits: Math.max(0, leftUnits) });
    }
    return left;
  }

  /** Those by whose tokens or cost the target that was asked for last is charged. */
  charged(): readonly Limit[] {
    return this.#open.map(({ limit }) => limit);
  }

  /** Charges what the target has used; further ones may be tried. */
  settle(usage: Usage): void {
    for (const one of this.#open) one.slice.settle(one, usedUnits(one.limit, usage));
    this.#open = none;
  }

  /** Charges nothing of what was reserved. */
  release(): void {
    for (const one of this.#open) one.slice.settle(one, 0);
    this.#open = none;
  }

  /** The request was never sent to anybody: it is not counted, either. */
  uncount(): void {
    for (const { slice, holding } of this.#counted) slice.refund(1, holding);
    this.#counted = none;
  }
}

/** All that is reserved before, with as much output as is asked for. */
function needsOf(charges: readonly Charge[], bound: UsageBound): ReadonlyMap<Slice, UnitsNeed> {
  const needs = new Map<Slice, UnitsNeed>();
  for (const { limit, slice } of charges) {
    if (!limit.isHard) continue;
    const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
    const units = Math.max(unitsMin, boundUnits(limit, bound, bound.outputTokens));
    needs.set(slice, { units, unitsMin });
  }
  return needs;
}

/** Output that every limit covers, and no less than is of use. */
function affordable(charges: readonly Charge[], bound: UsageBound, nowMs: number): number {
  let output = bound.outputTokens;
  for (const { limit, slice } of charges) {
    if (!limit.isHard || limit.type === 'requests') continue;
    output = Math.min(output, outputWithin(limit, bound, slice.freeAt(nowMs)));
  }
  return Math.max(output, bound.outputTokensMin);
}

/** Whether nothing that anybody may give back could let the request through. */
function isOver({ limit, slice }: Charge, unitsMin: number, nowMs: number): boolean {
  if (limit.limitUnits < unitsMin) return true;
  const { known } = slice;
  if (known === null || nowMs - known.atMs > knownForMs) return false;
  // A slice that has enough is within the limit, whatever was known before.
  if (slice.freeAt(nowMs) >= unitsMin) return false;
  return known.usedUnits + unitsMin > limit.limitUnits;
}
