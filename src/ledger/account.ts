/** Knows what one request has been admitted for, and charges what it used: each reservation once. */

import type { Need } from '../store/tables/usage-slices.ts';
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
  readonly needs: ReadonlyMap<Slice, Need>;

  constructor(lacking: Shortage['lacking'], needs: Shortage['needs']) {
    this.lacking = lacking;
    this.needs = needs;
  }
}

/** How long what is known of others' use is relied on. */
const knownForMs = 300;

/** The reservations of one request, and the requests it has been counted as. */
export class Reservations {
  #open: (Charge & { readonly reservation: Reservation })[] = [];
  readonly #counted = new Map<Slice, number>();
  /** Of the target that was asked for last. */
  #charges: readonly Charge[] = [];

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
    const fresh = charges.filter(({ slice }) => !this.#counted.has(slice));
    const outputTokens = takesLess ? affordable(fresh, bound) : bound.outputTokens;
    let lacking: Shortage['lacking'] | null = null;
    for (const charge of fresh) {
      const { limit, slice } = charge;
      if (!limit.isHard) continue;
      const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
      if (isOver(charge, unitsMin, nowMs)) throw new LimitReached(limit);
      if (slice.free >= boundUnits(limit, bound, outputTokens)) continue;
      lacking ??= { ...charge, unitsMin };
    }
    if (lacking !== null) return new Shortage(lacking, needsOf(fresh, bound));
    for (const { limit, slice } of fresh) {
      if (limit.type === 'requests') this.#counted.set(slice, slice.charge(1, nowMs));
      else {
        const units = limit.isHard ? boundUnits(limit, bound, outputTokens) : 0;
        this.#open.push({ limit, slice, reservation: slice.reserve(units, nowMs) });
      }
    }
    return { outputTokens };
  }

  /** Of the limits of the target that was asked for last, those that somebody has looked at. */
  left(): LimitLeft[] {
    return this.#charges.flatMap(({ limit, slice }) => {
      const { known } = slice;
      if (known === null) return [];
      const leftUnits = limit.limitUnits - known.usedUnits - known.reservedUnits;
      return [{ limit, leftUnits: Math.max(0, leftUnits) }];
    });
  }

  /** Charges what the target has used; further ones may be tried. */
  settle(usage: Usage): void {
    for (const { limit, slice, reservation } of this.#open) {
      slice.settle(reservation, usedUnits(limit, usage));
    }
    this.#open = [];
  }

  /** Charges nothing of what was reserved. */
  release(): void {
    for (const { slice, reservation } of this.#open) slice.settle(reservation, 0);
    this.#open = [];
  }

  /** The request was never sent to anybody: it is not counted, either. */
  uncount(): void {
    for (const [slice, holding] of this.#counted) slice.refund(1, holding);
    this.#counted.clear();
  }
}

/** All that is reserved before, with as much output as is asked for. */
function needsOf(charges: readonly Charge[], bound: UsageBound): ReadonlyMap<Slice, Need> {
  const needs = new Map<Slice, Need>();
  for (const { limit, slice } of charges) {
    if (!limit.isHard) continue;
    const unitsMin = boundUnits(limit, bound, bound.outputTokensMin);
    const units = Math.max(unitsMin, boundUnits(limit, bound, bound.outputTokens));
    needs.set(slice, { units, unitsMin });
  }
  return needs;
}

/** Output that every limit covers, and no less than is of use. */
function affordable(charges: readonly Charge[], bound: UsageBound): number {
  let output = bound.outputTokens;
  for (const { limit, slice } of charges) {
    if (!limit.isHard || limit.type === 'requests') continue;
    output = Math.min(output, outputWithin(limit, bound, slice.free));
  }
  return Math.max(output, bound.outputTokensMin);
}

/** Whether nothing that anybody may give back could let the request through. */
function isOver({ limit, slice }: Charge, unitsMin: number, nowMs: number): boolean {
  if (limit.limitUnits < unitsMin) return true;
  const { known } = slice;
  if (known === null || nowMs - known.atMs > knownForMs) return false;
  // A slice that has enough is within the limit, whatever was known before.
  if (slice.free >= unitsMin) return false;
  return known.usedUnits + unitsMin > limit.limitUnits;
}
