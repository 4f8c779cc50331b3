/** Simulates the bank of a region in memory, by the rules with which the product borrows from home and lends to gateways. */
import type { BankAnswer, BankRequest, LimitBank } from '../../src/ledger/limit-bank.ts';
import { isUnavailable } from '../../src/store/connection/unavailable.ts';
import { lendOf, loanTermsOf } from '../../src/store/regions/lending.ts';
import { afterMove, moveOfLoan } from '../../src/store/regions/loan-moves.ts';
import {
  counterOfLoan,
  newLoan,
  type RegionLoanRow,
} from '../../src/store/regions/region-loans.ts';
import { counterKeyText } from '../../src/store/usage/counter-place.ts';
import type { LockedCounter, SliceMove } from '../../src/store/usage/slice-moves.ts';
import type { Holder } from '../../src/store/usage/usage-holders.ts';
import { type GrantedUnits, MemoryBank } from '../../test/support/ledger/memory-bank.ts';

/** Undefined while the bank is away. */
export async function whileReached<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** As in src/ledger/regions/borrower.ts. */
const movesMax = 200;

export class SimulatedRegion extends MemoryBank {
  readonly #home: Pick<LimitBank, 'exchange' | 'listWanted'>;
  readonly #holder: Holder;
  readonly #now: () => number;
  readonly #loans = new Map<string, RegionLoanRow>();
  /** Moves of a request that home has not answered. */
  #pending: readonly SliceMove[] | null = null;
  #sequence = 0;

  /** `now` is the shared clock in milliseconds. */
  constructor(home: Pick<LimitBank, 'exchange' | 'listWanted'>, holder: Holder, now: () => number) {
    super(now);
    this.#home = home;
    this.#holder = holder;
    this.#now = now;
  }

  override async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const wanted = request.moves.filter((move) => this.#isUncovered(move));
    if (wanted.length > 0) await this.#exchangeWithHome(wanted);
    return super.exchange(request);
  }

  /** Reports and returns what is due, and asks home which units others lack. */
  async turn(): Promise<void> {
    const now = this.#now();
    if (this.#pending !== null || this.#dueLoans(now).length > 0) await this.#exchangeWithHome([]);
    if (![...this.#loans.values()].some(({ units }) => units > 0)) return;
    const wanted = await whileReached(this.#home.listWanted([this.#holder]));
    for (const counter of wanted ?? []) {
      const loan = this.#loans.get(counterKeyText(counter));
      if (loan === undefined) continue;
      loan.recalled_at ??= now;
      loan.scarce_at = now;
      loan.due_at = now;
      this.want(counter);
    }
  }

  protected override grant(move: SliceMove, state: LockedCounter): GrantedUnits {
    const key = counterKeyText(move.counter);
    const place = { organisationId: this.#holder.organisationId, nowMs: this.#now() };
    const { granted, answer, loan } = lendOf({ move, state }, this.#loans.get(key), place);
    this.#loans.set(key, loan);
    return { outcome: granted.outcome, answer, isShort: granted.isShort };
  }

  #isUncovered({ counter, needs, offered }: SliceMove): boolean {
    if (needs.length === 0) return false;
    const key = counterKeyText(counter);
    const loan = this.#loans.get(key);
    const state = this.counters.get(key);
    const used = (state?.used_units ?? 0) + (state?.reserved_units ?? 0);
    const isLent = loan !== undefined && loan.recalled_at === null;
    const free = isLent ? loan.units + loan.reported_units - used : 0;
    return needs.reduce((sum, { units }) => sum + units, 0) > free + offered;
  }

  #dueLoans(now: number): RegionLoanRow[] {
    return [...this.#loans.values()].filter(({ due_at }) => due_at !== null && due_at <= now);
  }

  /** Sends a request that has no answer first. While home is away, nobody waits. */
  async #exchangeWithHome(wanted: readonly SliceMove[]): Promise<void> {
    if (this.#pending !== null && !(await this.#send())) return;
    const moves = this.#takeMoves(wanted);
    if (moves.length === 0) return;
    this.#pending = moves;
    await this.#send();
  }

  #takeMoves(wanted: readonly SliceMove[]): SliceMove[] {
    const nowMs = this.#now();
    const { organisationId } = this.#holder;
    for (const move of wanted) {
      const key = counterKeyText(move.counter);
      if (!this.#loans.has(key))
        this.#loans.set(key, newLoan(organisationId, move.counter, loanTermsOf(move), nowMs));
    }
    const needs = new Map(wanted.map((move) => [counterKeyText(move.counter), move.needs]));
    const due = this.#dueLoans(nowMs).map((loan) => counterKeyText(counterOfLoan(loan)));
    const keys = [...new Set([...needs.keys(), ...due])].slice(0, movesMax);
    return keys.flatMap((key) => {
      const loan = this.#loans.get(key)!;
      const answeredAtMs = loan.recalled_at === null ? null : this.answeredMs(counterOfLoan(loan));
      const state = this.counters.get(key) ?? null;
      return moveOfLoan(loan, state, needs.get(key) ?? [], { nowMs, answeredAtMs }) ?? [];
    });
  }

  /** Returns whether home has answered. */
  async #send(): Promise<boolean> {
    const moves = this.#pending!;
    const sentAtMs = this.#now();
    const exchange = this.#home.exchange({
      holder: this.#holder,
      sequence: this.#sequence,
      moves,
      listsHeld: false,
      countsHolders: true,
      keepsAnswer: true,
      leavesOutLost: true,
    });
    const answer = await whileReached(exchange);
    if (answer === undefined) return false;
    this.#pending = null;
    this.#sequence += 1;
    for (const [at, move] of moves.entries()) {
      const key = counterKeyText(move.counter);
      // The bank in memory ends no lease, so that it loses nothing of a region.
      const outcome = answer!.outcomes[at]!;
      this.#loans.set(key, afterMove(this.#loans.get(key)!, move, outcome, sentAtMs));
    }
    return true;
  }
}
