/** Implements circuit breakers: pauses targets that failed too often, and lets one call probe them afterwards. */
import type { BreakerRule, ConfigLeaf } from '../../model/configs/config-tree.ts';
import { monotonicMs } from '../../monotonic.ts';

interface State {
  calls: number;
  failures: number;
  /** Monotonic end of the pause, after which one call at a time probes the target; 0 while closed. */
  openUntilMs: number;
  /** Until when a running probe keeps other calls away; 0 when there is none. */
  probedUntilMs: number;
}

const statesMax = 100_000;

/** The breakers of one process; `mark` identifies the config of a target. */
export class Breakers {
  readonly #states = new Map<string, State>();
  readonly #monotonicMs: () => number;

  constructor(clock: () => number = monotonicMs) {
    this.#monotonicMs = clock;
  }

  /** Whether the target must not be called: during its pause, and while a probe runs. */
  isOpen(mark: string, leaf: ConfigLeaf): boolean {
    if (leaf.breaker === null) return false;
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state === undefined || state.openUntilMs === 0) return false;
    return Math.max(state.openUntilMs, state.probedUntilMs) > this.#monotonicMs();
  }

  /** Called before each call; true when the call is the probe after a pause. */
  begin(mark: string, leaf: ConfigLeaf): boolean {
    if (leaf.breaker === null || this.isOpen(mark, leaf)) return false;
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state === undefined || state.openUntilMs === 0) return false;
    state.probedUntilMs = this.#monotonicMs() + leaf.breaker.cooldownMs;
    return true;
  }

  /** Ends a probe without a result, so that the next call may probe. */
  giveUp(mark: string, leaf: ConfigLeaf): void {
    const state = this.#states.get(`${mark} ${leaf.path}`);
    if (state !== undefined) state.probedUntilMs = 0;
  }

  /** Records the result of a call; `status` is null when the call failed. */
  note(mark: string, leaf: ConfigLeaf, status: number | null): void {
    const rule = leaf.breaker;
    if (rule === null) return;
    const state = this.#stateOf(`${mark} ${leaf.path}`);
    const nowMs = this.#monotonicMs();
    if (state.openUntilMs > 0) {
      // Calls that began before the pause, or had no other target, are not probes.
      if (state.openUntilMs > nowMs) return;
      state.openUntilMs = isFailure(rule, status) ? nowMs + rule.cooldownMs : 0;
      state.probedUntilMs = 0;
      return;
    }
    state.calls += 1;
    if (isFailure(rule, status)) state.failures += 1;
    else if (rule.failurePercentMax === null) state.failures = 0;
    if (!hasTripped(rule, state)) return;
    Object.assign(state, { calls: 0, failures: 0 });
    state.openUntilMs = nowMs + rule.cooldownMs;
  }

  #stateOf(key: string): State {
    const existing = this.#states.get(key);
    if (existing !== undefined) return existing;
    if (this.#states.size === statesMax) this.#states.delete(this.#states.keys().next().value!);
    const state = { calls: 0, failures: 0, openUntilMs: 0, probedUntilMs: 0 };
    this.#states.set(key, state);
    return state;
  }
}

function isFailure({ statusCodes }: BreakerRule, status: number | null): boolean {
  if (status === null) return true;
  return statusCodes === null ? status > 500 : statusCodes.has(status);
}

function hasTripped(rule: BreakerRule, { calls, failures }: State): boolean {
  if (calls < rule.callsMin) return false;
  if (rule.failuresMax !== null && failures >= rule.failuresMax) return true;
  const percent = (failures * 100) / calls;
  return rule.failurePercentMax !== null && percent >= rule.failurePercentMax;
}
