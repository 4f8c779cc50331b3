/** Knows which targets have failed so often that they are left alone for a while, and when one call may try them again. */
import type { BreakerRule, ConfigLeaf } from '../../model/configs/config-tree.ts';
import { monotonicMs } from '../../monotonic.ts';

interface State {
  calls: number;
  failures: number;
  /** Until when nobody calls, by the monotonic clock; after that one at a time tries it. 0 while all may. */
  openUntilMs: number;
  /** How long the one that tries it keeps the others away; 0 when nobody does. */
  triedUntilMs: number;
}

const statesMax = 100_000;

/** Of this process; `mark` says which config a target is of. */
export class Breakers {
  readonly #states = new Map<string, State>();
  readonly #monotonicMs: () => number;

  constructor(clock: () => number = monotonicMs) {
    this.#monotonicMs = clock;
  }

  /** Whether the target is left alone: for its pause, and then while somebody tries it. */
  isOpen(mark: string, leaf: ConfigLeaf): boolean {
    if (leaf.breaker === null) return false;
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state === undefined || state.openUntilMs === 0) return false;
    return Math.max(state.openUntilMs, state.triedUntilMs) > this.#monotonicMs();
  }

  /** To be said before a call. True for the one that tries a target after its pause. */
  begin(mark: string, leaf: ConfigLeaf): boolean {
    if (leaf.breaker === null || this.isOpen(mark, leaf)) return false;
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state === undefined || state.openUntilMs === 0) return false;
    state.triedUntilMs = this.#monotonicMs() + leaf.breaker.cooldownMs;
    return true;
  }

  /** The one that tried has learned nothing: the next may. */
  giveUp(mark: string, leaf: ConfigLeaf): void {
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state !== undefined) state.triedUntilMs = 0;
  }

  /** `status` is null for a call that came to nothing. */
  note(mark: string, leaf: ConfigLeaf, status: number | null): void {
    const rule = leaf.breaker;
    if (rule === null) return;
    const state = this.#stateOf(`${mark} ${leaf.path}`);
    const nowMs = this.#monotonicMs();
    if (state.openUntilMs > 0) {
      // Calls that were under way, or had no other target, say nothing of what is after the pause.
      if (state.openUntilMs > nowMs) return;
      state.openUntilMs = isFailure(rule, status) ? nowMs + rule.cooldownMs : 0;
      state.triedUntilMs = 0;
      return;
    }
    state.calls += 1;
    if (isFailure(rule, status)) state.failures += 1;
    else if (rule.failurePercentMax === null) state.failures = 0;
    if (!isTooMuch(rule, state)) return;
    Object.assign(state, { calls: 0, failures: 0 });
    state.openUntilMs = nowMs + rule.cooldownMs;
  }

  #stateOf(place: string): State {
    const known = this.#states.get(place);
    if (known !== undefined) return known;
    if (this.#states.size === statesMax) this.#states.delete(this.#states.keys().next().value!);
    const state = { calls: 0, failures: 0, openUntilMs: 0, triedUntilMs: 0 };
    this.#states.set(place, state);
    return state;
  }
}

function isFailure({ statusCodes }: BreakerRule, status: number | null): boolean {
  if (status === null) return true;
  return statusCodes === null ? status > 500 : statusCodes.has(status);
}

function isTooMuch(rule: BreakerRule, { calls, failures }: State): boolean {
  if (calls < rule.callsMin) return false;
  if (rule.failuresMax !== null && failures >= rule.failuresMax) return true;
  const percent = (failures * 100) / calls;
  return rule.failurePercentMax !== null && percent >= rule.failurePercentMax;
}
