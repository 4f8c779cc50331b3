/** Finds false refusals: requests that would have fitted at some moment of their wait, beside all used and reserved units. */
import { chargedUnits, mostUnits, type RequestCharge } from './charges.ts';
import { boundUnits, type GateLimit } from './counters.ts';
import type { CallerObservation } from './driver.ts';
import { isRefused } from './driver.ts';

/** Minimum output of any request. */
export const outputTokensLeast = 16;

/** A gateway that was killed. */
interface DeadGateway {
  /** Null for none. */
  readonly gate: number | null;
  readonly atMs: number;
  /** Units that it held of each limit, in the earlier window and in the later one. */
  readonly held: ReadonlyMap<GateLimit, readonly [earlier: number, later: number]>;
}

/**
 * A request is open from its sending until the end of its response, with its full size. Units that a dead gateway
 * held count from its death, beside what its requests were charged. `turnsMs` separates windows.
 */
export function falseRefusals(
  limits: readonly GateLimit[],
  known: readonly RequestCharge[],
  requested: readonly CallerObservation[],
  { turnsMs, dead }: { readonly turnsMs: number | null; readonly dead: DeadGateway },
): CallerObservation[] {
  /** A request that was open when the window turned counts in both, because its window is unknown. */
  const mayBeOf = (isLater: boolean, fromMs: number, toMs: number): boolean =>
    isLater ? turnsMs !== null && toMs >= turnsMs : turnsMs === null || fromMs < turnsMs;
  return requested.filter((one) => {
    if (!isRefused(one)) return false;
    const fits = (limit: GateLimit, isLater: boolean): boolean => {
      const ofWindow = ({ entry, requested: { sentMs, doneMs } }: RequestCharge): boolean =>
        limit.name !== 'key' || mayBeOf(isLater, sentMs, entry?.atMs ?? doneMs);
      const units = boundUnits(
        limit.type,
        one.plan,
        Math.min(outputTokensLeast, one.plan.outputTokensMax),
      );
      const held = dead.held.get(limit)![isLater ? 1 : 0];
      const loads = loadOf(limit, known.filter(ofWindow), { ...dead, held });
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
  dead: Pick<DeadGateway, 'gate' | 'atMs'> & { readonly held: number },
): Step[] {
  const steps: Step[] = dead.gate === null ? [] : [[dead.atMs, dead.held]];
  for (const request of known) {
    const { entry, requested } = request;
    const open = mostUnits(type, request);
    steps.push([requested.sentMs, open]);
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
