/** Finds false refusals: requests that would have fitted at some moment of their wait, beside all used and reserved units. */
import { chargedUnits, mostUnits, type RequestCharge } from './charges.ts';
import { boundUnits, type GateLimit } from './counters.ts';
import type { CallerObservation } from './driver.ts';
import { isRefused } from './driver.ts';

/** Minimum output of any request. */
export const outputTokensLeast = 16;

/**
 * A request is open from its sending until the end of its response, with its full size; requests of a dead
 * gateway stay open. `turnsMs` separates windows.
 */
export function falseRefusals(
  limits: readonly GateLimit[],
  known: readonly RequestCharge[],
  requested: readonly CallerObservation[],
  { turnsMs, deadGate }: { readonly turnsMs: number | null; readonly deadGate: number | null },
): CallerObservation[] {
  /** A request that was open when the window turned counts in both, because its window is unknown. */
  const mayBeOf = (isLater: boolean, fromMs: number, toMs: number): boolean =>
    isLater ? turnsMs !== null && toMs >= turnsMs : turnsMs === null || fromMs < turnsMs;
  return requested.filter((one) => {
    if (!isRefused(one)) return false;
    const fits = (limit: GateLimit, isLater: boolean): boolean => {
      const ofWindow = ({ entry, requested: { sentMs, doneMs } }: RequestCharge): boolean =>
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

/** Used and open units after each event. */
function loadOf(
  { type }: GateLimit,
  known: readonly RequestCharge[],
  deadGate: number | null,
): Step[] {
  const steps: Step[] = [];
  for (const request of known) {
    const { entry, requested } = request;
    const open = mostUnits(type, request);
    steps.push([requested.sentMs, open]);
    if (requested.gate === deadGate) continue;
    const endedMs = Math.max(requested.doneMs, entry?.endedMs ?? 0);
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
