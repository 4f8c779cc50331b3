/** Counts the turns of the event loop that work gives to others, independently of the speed of the machine. */
import { vi } from 'vitest';

/** Longer than the time after which interruptible work gives way (src/slices.ts). */
const elapsedMs = 10;

export interface CountedWork<T> {
  readonly turns: number;
  readonly value: T;
}

/** Every look at the clock finds that a turn has lasted long enough, so that each interruption gives way. */
export async function countTurns<T>(work: () => T | Promise<T>): Promise<CountedWork<T>> {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += elapsedMs;
    return now;
  });
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  try {
    const value = await work();
    return { turns, value };
  } finally {
    isDone = true;
    clock.mockRestore();
  }
}
