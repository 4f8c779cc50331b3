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
  /** Second requests that may be sent. */
  hedges: number;
}

interface Latency {
  /** Moving average of the time until a response begins; null before the first. */
  meanMs: number | null;
  /** When the next call must measure the target, because the average is missing or old. */
  nextProbeMs: number;
  /** The newest latencies, in no order. */
  readonly newest: number[];
  nextPlace: number;
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
/** Latencies that a percentile is taken of. */
const newestMax = 100;
/** Fewer say nothing about a percentile. */
const newestMin = 10;
/** Second requests that a target may save up. */
const hedgesMax = 10;

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
    state.latencies[form] ??= newLatency(nowMs);
    const latency = state.latencies[form];
    const { meanMs } = latency;
    latency.meanMs = meanMs === null ? latencyMs : meanMs + (latencyMs - meanMs) * newestShare;
    latency.nextProbeMs = nowMs + measuredForMs;
    latency.newest[latency.nextPlace] = latencyMs;
    latency.nextPlace = (latency.nextPlace + 1) % newestMax;
  }

  /** The latency that a percentage of the newest calls stayed below; null while too few are known. */
  percentileOf(target: string, form: MeasuredForm, percentile: number): number | null {
    const newest = this.#states.get(target)?.latencies[form]?.newest ?? [];
    if (newest.length < newestMin) return null;
    const ascending = newest.toSorted((a, b) => a - b);
    return ascending[Math.ceil((percentile / 100) * ascending.length) - 1]!;
  }

  /** Counts a request that may have a second one, of which `maxPercent` may. */
  noteHedgeable(target: string, maxPercent: number): void {
    const state = this.#stateOf(target, this.#monotonicMs());
    state.hedges = Math.min(hedgesMax, state.hedges + maxPercent / 100);
  }

  /** Whether a second request may be sent now; counts it. */
  takeHedge(target: string): boolean {
    const state = this.#states.get(target);
    // Shares such as 5 % add up with rounding errors.
    if (state === undefined || state.hedges < 1 - 1e-9) return false;
    state.hedges -= 1;
    return true;
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
    latencies[form] ??= newLatency(nowMs);
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
    const state: State = {
      successes: 0,
      failures: 0,
      countedMs: nowMs,
      nextTestMs: 0,
      latencies: {},
      hedges: 0,
    };
    this.#states.set(target, state);
    return state;
  }
}

function newLatency(nowMs: number): Latency {
  return { meanMs: null, nextProbeMs: nowMs, newest: [], nextPlace: 0 };
}

function decay(state: State, nowMs: number): void {
  const remaining = 2 ** ((state.countedMs - nowMs) / halfLifeMs);
  state.successes *= remaining;
  state.failures *= remaining;
  state.countedMs = nowMs;
}
