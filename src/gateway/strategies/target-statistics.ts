/** Remembers how fast and how reliably the targets of configs respond, with decay, in one process. */
import { monotonicMs } from '../../monotonic.ts';

/** Streams and whole responses begin after different times, so they are measured apart. */
export type MeasuredForm = 'stream' | 'whole';

interface State {
  /** Calls that succeeded and that failed, halved every {@link halfLifeMs}. */
  successes: number;
  failures: number;
  countedMs: number;
  /** When the next call may test an unhealthy target. */
  nextTestMs: number;
  readonly latencies: Partial<Record<MeasuredForm, Latency>>;
}

interface Latency {
  /** Moving average of the time until a response begins; null before the first. */
  meanMs: number | null;
  /** When the next call must measure the target, because the average is missing or old. */
  nextProbeMs: number;
}

const statesMax = 10_000;
const halfLifeMs = 30_000;
/** Calls before a target can be unhealthy: three, which have decayed a little. */
const callsMin = 2.5;
/** Share of the newest call in the average. */
const newestShare = 0.2;
/** An average is measured again after this time, by one call. */
const measuredForMs = 10_000;
/** One call in this time tests an unhealthy target. */
const testEveryMs = 5_000;

/** Targets are identified by their config and their path in it. */
export class TargetStatistics {
  readonly #states = new Map<string, State>();
  readonly #monotonicMs: () => number;

  constructor(clock: () => number = monotonicMs) {
    this.#monotonicMs = clock;
  }

  /** `latencyMs` is the time until the response began; null for a failed call. */
  note(target: string, form: MeasuredForm, latencyMs: number | null): void {
    const nowMs = this.#monotonicMs();
    const state = this.#stateOf(target, nowMs);
    decay(state, nowMs);
    if (latencyMs === null) {
      state.failures += 1;
      return;
    }
    state.successes += 1;
    const { meanMs } = state.latencies[form] ?? { meanMs: null };
    const mean = meanMs === null ? latencyMs : meanMs + (latencyMs - meanMs) * newestShare;
    state.latencies[form] = { meanMs: mean, nextProbeMs: nowMs + measuredForMs };
  }

  /** Whether at least half of the recent calls succeeded, or too few are known. */
  isHealthy(target: string): boolean {
    const state = this.#states.get(target);
    if (state === undefined) return true;
    decay(state, this.#monotonicMs());
    const { successes, failures } = state;
    return successes + failures < callsMin || failures <= successes;
  }

  /** Whether this call should test an unhealthy target; true once in a while. */
  takeTest(target: string): boolean {
    const nowMs = this.#monotonicMs();
    const state = this.#stateOf(target, nowMs);
    if (nowMs < state.nextTestMs) return false;
    state.nextTestMs = nowMs + testEveryMs;
    return true;
  }

  /** Whether this call should measure the target, because its latency is unknown or old; true once in a while. */
  takeProbe(target: string, form: MeasuredForm): boolean {
    const nowMs = this.#monotonicMs();
    const { latencies } = this.#stateOf(target, nowMs);
    latencies[form] ??= { meanMs: null, nextProbeMs: nowMs };
    const latency = latencies[form];
    if (nowMs < latency.nextProbeMs) return false;
    latency.nextProbeMs = nowMs + measuredForMs;
    return true;
  }

  /** Null before the first response. */
  latencyOf(target: string, form: MeasuredForm): number | null {
    return this.#states.get(target)?.latencies[form]?.meanMs ?? null;
  }

  #stateOf(target: string, nowMs: number): State {
    const existing = this.#states.get(target);
    if (existing !== undefined) return existing;
    if (this.#states.size === statesMax) this.#states.delete(this.#states.keys().next().value!);
    const state = { successes: 0, failures: 0, countedMs: nowMs, nextTestMs: 0, latencies: {} };
    this.#states.set(target, state);
    return state;
  }
}

function decay(state: State, nowMs: number): void {
  const remaining = 2 ** ((state.countedMs - nowMs) / halfLifeMs);
  state.successes *= remaining;
  state.failures *= remaining;
  state.countedMs = nowMs;
}
