/** Starts the work of a process that nobody asks for, as soon as what it needs is there. */
import type { SharedClock } from '../../clock.ts';
import type { RunningSnapshot } from '../../snapshot/open-snapshot.ts';
import { keepMeasured } from './changes.ts';
import type { RegionState } from './link-state.ts';
import type { ProcessState } from './process-state.ts';

interface WorkParts {
  readonly state: ProcessState;
  readonly runsGateways: boolean;
  readonly runsJobs: boolean;
  readonly clock: SharedClock;
  readonly callers: { startPolling(): void };
  readonly jobs: { start(): void };
  /** Null when no snapshot is kept. */
  readonly snapshot: Pick<RunningSnapshot, 'start'> | null;
  /** Null in a process with a database. */
  readonly link: {
    readonly region: (Pick<RegionState, 'isProven'> & { start(): void }) | null;
  } | null;
}

export interface ProcessWork extends Disposable {
  /** Begins what the state of the process permits, and has not begun yet. */
  readonly start: () => void;
}

export function createProcessWork(parts: WorkParts): ProcessWork {
  const { state, clock, callers, jobs, snapshot, link } = parts;
  let measuring: Disposable | null = null;
  return {
    start: () => {
      if (state.isDraining) return;
      const isConfigured = state.isConnected || state.isLinked;
      if (isConfigured) measuring ??= keepMeasured(clock);
      if (!state.isListening) return;
      if (isConfigured && parts.runsGateways) callers.startPolling();
      if (isConfigured) snapshot?.start();
      const region = link?.region ?? null;
      const hasDatabase = region?.isProven() ?? state.isConnected;
      if (hasDatabase) region?.start();
      if (hasDatabase && parts.runsJobs) jobs.start();
    },
    [Symbol.dispose]: () => measuring?.[Symbol.dispose](),
  };
}
