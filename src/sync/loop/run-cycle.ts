/** Runs a cycle and, while a guard holds back the version, heals or reports drift. */
import type { Ending } from '../../failure.ts';
import type { CycleOptions } from '../cycle/cycle-options.ts';
import { type TimedCycle, timeCycle } from '../cycle/time-cycle.ts';
import type { LoopEvent } from '../status/loop-event.ts';
import type { DriftPolicy } from './due-action.ts';
import type { RepeatFilter } from './repeat-filter.ts';

export interface CycleContext {
  readonly mode: DriftPolicy['mode'];
  readonly repeats: RepeatFilter;
}

export interface CycleWithDrift extends TimedCycle {
  /** The event about drift while the version is held back; else null. */
  readonly driftEvent: Exclude<LoopEvent, { kind: 'failure' }> | null;
}

/**
 * Runs a cycle. If a guard refuses it, undoes or reports what others changed in resources that the
 * version leaves as they were applied last.
 *
 * @throws as `reconcile`
 */
export async function runCycle(
  options: CycleOptions,
  { mode, repeats }: CycleContext,
): Promise<CycleWithDrift> {
  const cycle = await timeCycle(options);
  const { plan, refusal } = cycle.result;
  const isHealing = mode === 'heal' && plan.changes.some(({ restores }) => restores);
  const isRefused = refusal !== null && options.rotationsOnly !== true;
  if (!isRefused || (mode !== 'report' && !isHealing)) return { ...cycle, driftEvent: null };
  const run = await timeCycle({ ...options, restoresOnly: true, act: isHealing });
  const result = { ...run.result, refusal, ending: endingWhileHeld(run.result.ending) };
  const about = { ...run, result, sourceFailure: null, isVersionHeld: true };
  if (!isHealing) {
    const isNews = repeats.isNewDrift(result.plan.changes);
    return { ...cycle, driftEvent: { kind: 'drift', ...about, isNews } };
  }
  const now = await timeCycle({ ...options, previous: result.read });
  return { ...now, driftEvent: { kind: 'cycle', ...about, retryAt: null, isNews: true } };
}

/** Healing drift does not turn a refused version into a success. */
function endingWhileHeld(ending: Ending): Ending {
  return ending === 'success' || ending === 'changesPresent' ? 'refusedByGuard' : ending;
}
