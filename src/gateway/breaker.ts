/** Knows which targets have failed so often that they are left alone for a while. */
import type { BreakerRule, Leaf } from '../model/config-tree.ts';

interface State {
  calls: number;
  failures: number;
  /** Until when nobody calls, by the monotonic clock; 0 while all may. */
  openUntilMs: number;
}

const statesMax = 100_000;

/** Of this process; `mark` says which config a target is of. */
export class Breakers {
  readonly #states = new Map<string, State>();

  isOpen(mark: string, leaf: Leaf): boolean {
    if (leaf.breaker === null) return false;
    const state = this.#states.get(`${mark} ${leaf.path}`);
    return state !== undefined && state.openUntilMs > performance.now();
  }

  /** `status` is null for a call that came to nothing. */
  note(mark: string, leaf: Leaf, status: number | null): void {
    const rule = leaf.breaker;
    if (rule === null) return;
    const state = this.#stateOf(`${mark} ${leaf.path}`);
    state.calls += 1;
    if (isFailure(rule, status)) state.failures += 1;
    else if (rule.failurePercentMax === null) state.failures = 0;
    if (!isTooMuch(rule, state)) return;
    // After the pause it counts anew.
    Object.assign(state, { calls: 0, failures: 0 });
    state.openUntilMs = performance.now() + rule.cooldownMs;
  }

  #stateOf(place: string): State {
    const known = this.#states.get(place);
    if (known !== undefined) return known;
    if (this.#states.size === statesMax) this.#states.delete(this.#states.keys().next().value!);
    const state = { calls: 0, failures: 0, openUntilMs: 0 };
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
