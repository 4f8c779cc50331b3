/** Knows what becomes of drift while a guard holds a version back. */
import type { Ending } from '../../failure.ts';
import type { CycleOptions } from '../cycle/cycle-options.ts';
import { type TimedCycle, timed } from '../cycle/timed-cycle.ts';
import type { WatchEvent } from '../status/loop-event.ts';
import type { DriftPolicy } from './due.ts';
import type { Told } from './told.ts';

export interface Surroundings {
  readonly mode: DriftPolicy['mode'];
  readonly told: Told;
}

export interface CycleWithDrift extends TimedCycle {
  /** What was brought back, or told, where the version is held back. */
  readonly beside: Exclude<WatchEvent, { kind: 'failure' }> | null;
}

/**
 * Runs a cycle. Where a guard refuses it, what others changed is undone or told all the same as far as the version
 * says what was applied last.
 *
 * @throws as `reconcile`
 */
export async function keepUp(
  options: CycleOptions,
  { mode, told }: Surroundings,
): Promise<CycleWithDrift> {
  const cycle = await timed(options);
  const { plan, refusal } = cycle.result;
  const isHealing = mode === 'heal' && plan.changes.some(({ restores }) => restores);
  const isRefused = refusal !== null && options.rotationsOnly !== true;
  if (!isRefused || (mode !== 'report' && !isHealing)) return { ...cycle, beside: null };
  const run = await timed({ ...options, restoresOnly: true, act: isHealing });
  const result = { ...run.result, refusal, ending: endingBeside(run.result.ending) };
  const about = { ...run, result, wrong: null, isBeside: true };
  if (!isHealing) {
    const isNews = told.isNewDrift(result.plan.changes);
    return { ...cycle, beside: { kind: 'drift', ...about, isNews } };
  }
  const now = await timed({ ...options, previous: result.read });
  return { ...now, beside: { kind: 'cycle', ...about, retryAt: null, isNews: true } };
}

/** What was brought back makes no success of a version that is refused. */
function endingBeside(ending: Ending): Ending {
  return ending === 'success' || ending === 'changesPresent' ? 'refusedByGuard' : ending;
}
