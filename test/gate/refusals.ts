/** Knows which refusals were false: of requests that would have fitted, at every moment of their waiting, beside all that was used and open. */
import { chargedUnits, type Known, mostUnits } from './charges.ts';
import { boundUnits, type GateLimit } from './counters.ts';
import type { Asked } from './driver.ts';
import { isRefused } from './driver.ts';

/** Output that no request makes do with less than. */
export const outputTokensLeast = 16;

/**
 * What is open is what was asked for, from when it was sent until its answer was over; what a dead
 * gateway had open stays so. `turnsMs` parts windows.
 */
export function falseRefusals(
  limits: readonly GateLimit[],
  known: readonly Known[],
  asked: readonly Asked[],
  { turnsMs, deadGate }: { readonly turnsMs: number | null; readonly deadGate: number | null },
): Asked[] {
  /** One that was under way as the window turned is of either, for all that can be known. */
  const mayBeOf = (isLater: boolean, fromMs: number, toMs: number): boolean =>
    isLater ? turnsMs !== null && toMs >= turnsMs : turnsMs === null || fromMs < turnsMs;
  return asked.filter((one) => {
    if (!isRefused(one)) return false;
    const fits = (limit: GateLimit, isLater: boolean): boolean => {
      const ofWindow = ({ entry, asked: { sentMs, doneMs } }: Known): boolean =>
        limit.name !== 'key' || mayBeOf(isLater, sentMs, entry?.atMs ?? doneMs);
      const units = boundUnits(limit.type, one.plan, outputTokensLeast);
      const loads = loadOf(limit, known.filter(ofWindow), deadGate);
      return mostWithin(loads, one.sentMs, one.doneMs) + units <= limit.units;
    };
    const windows = [false, true].filter((isLater) => mayBeOf(isLater, one.sentMs, one.doneMs));
    return windows.every((isLater) => limits.every((limit) => fits(limit, isLater)));
  });
}

type Step = readonly [atMs: number, units: number];

/** What was used and open, from each moment on. */
function loadOf({ type }: GateLimit, known: readonly Known[], deadGate: number | null): Step[] {
  const steps: Step[] = [];
  for (const request of known) {
    const { entry, asked } = request;
    const open = mostUnits(type, request);
    steps.push([asked.sentMs, open]);
    if (asked.gate === deadGate) continue;
    const endedMs = Math.max(asked.doneMs, entry?.endedMs ?? 0);
    steps.push([endedMs, chargedUnits(type, request) - open]);
  }
  let load = 0;
  return steps
    .toSorted(([one], [other]) => one - other)
    .map(([atMs, units]) => {
      load += units;
      return [atMs, load] as const;
    });
}

function mostWithin(loads: readonly Step[], fromMs: number, toMs: number): number {
  let most = 0;
  let before = 0;
  for (const [atMs, load] of loads) {
    if (atMs > toMs) break;
    if (atMs < fromMs) before = load;
    else most = Math.max(most, load);
  }
  return Math.max(most, before);
}
