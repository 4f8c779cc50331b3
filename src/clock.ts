/** Knows what time it is: the one place that reads the process clock, so that loops can be given another. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
