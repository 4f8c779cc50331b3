/** Determines how often a watched source is checked, by the settings or by the kind of source. */
import type { Settings } from '../../settings.ts';
import { usualProbeMs, type WatchOptions } from '../../sync/loop/watch.ts';

export function watchPace(
  locations: readonly string[],
  { sync }: Pick<Settings, 'sync'>,
): Pick<WatchOptions, 'probeMs' | 'drift'> {
  const { intervalSeconds, driftMode, driftSeconds } = sync;
  return {
    probeMs: intervalSeconds === null ? usualProbeMs(locations) : intervalSeconds * 1000,
    drift: { mode: driftMode, passMs: driftSeconds * 1000 },
  };
}
