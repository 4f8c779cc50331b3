/** Sends requests at a given rate, however fast they are answered. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import type { Load } from './load.ts';

const tickMs = 10;
/** Requests beyond this are left out, so that a stalled system does not exhaust this process. */
const inFlightMax = 3_000;

export interface PacedTraffic {
  readonly answers: readonly Answer[];
  /** Requests that were left out. */
  readonly omitted: number;
  /** Requests that failed inside the gauntlet itself. */
  readonly errors: readonly string[];
}

/** Resolves once the signal is given and everything is answered. */
export async function pace(
  loads: readonly Load[],
  rate: number,
  over: AbortSignal,
): Promise<PacedTraffic> {
  const answers: Answer[] = [];
  const errors: string[] = [];
  const open = new Set<Promise<void>>();
  const due = loads.map(() => 0);
  let omitted = 0;
  let lastMs = performance.now();
  while (!over.aborted) {
    await wait(tickMs);
    const nowMs = performance.now();
    const seconds = (nowMs - lastMs) / 1_000;
    lastMs = nowMs;
    for (const [at, load] of loads.entries()) {
      const { pace } = load;
      due[at]! += seconds * ('share' in pace ? pace.share * rate : pace.perSecond);
      for (; due[at]! >= 1; due[at]! -= 1) {
        if (open.size >= inFlightMax) {
          omitted += 1;
          continue;
        }
        const sending: Promise<void> = load
          .send()
          .then((answer) => {
            if (answer !== null) answers.push(answer);
          })
          .catch((error: unknown) => void errors.push(`${load.name}: ${String(error)}`))
          .finally(() => open.delete(sending));
        open.add(sending);
      }
    }
  }
  await Promise.all(open);
  return { answers, omitted, errors };
}
