/** Knows what a look at a source leads to: a cycle, one that only rotates keys, a pass that tells drift, or nothing. */

/** What is done about changes that others made to what had been applied, and how often they are looked for. */
export interface DriftPolicy {
  readonly mode: 'heal' | 'report' | 'off';
  /** Time between two passes over an unchanged source, ms. */
  readonly passMs: number;
}

/** What a loop knows between two looks; moments in ms since the epoch, null for never. */
export interface LoopState {
  /** The last cycle of the version did all of it. */
  isApplied: boolean;
  /** A guard refused the last cycle of the version, so that nothing of it was done. */
  isRefused: boolean;
  /** The version may have been applied before this process led. */
  isUnsure: boolean;
  /** Some of the version waits for the end of a suspension. */
  isPaused: boolean;
  /** Of the last cycle or pass. */
  cycleAt: number;
  retryAt: number | null;
  /** When a key is due for another value. */
  rotatesAt: number | null;
}

/** What is known of a version that is seen for the first time. */
export const ofNewVersion = { isApplied: false, isRefused: false, isPaused: false } as const;

/** At the start of a process. */
export const atStart: Readonly<LoopState> = {
  ...{ ...ofNewVersion, isUnsure: true },
  ...{ cycleAt: Number.NEGATIVE_INFINITY, retryAt: null, rotatesAt: null },
};

export interface LookFacts {
  readonly now: number;
  /** The version is another than that of the last cycle. */
  readonly isNew: boolean;
  /** When what left the source has waited long enough. */
  readonly settledAt: number | null;
}

export interface Due {
  readonly what: 'cycle' | 'rotations' | 'telling';
  /** Whether the version may hold something that was not applied. */
  readonly isFresh: boolean;
}

/** Null where nothing is due. */
export function dueAt(
  state: Readonly<LoopState>,
  { now, isNew, settledAt }: LookFacts,
  { mode, passMs }: DriftPolicy,
): Due | null {
  const { isApplied, isRefused, isUnsure, isPaused, cycleAt, retryAt, rotatesAt } = state;
  const isOver = (moment: number | null): boolean => moment !== null && now >= moment;
  const isRetry = isOver(retryAt);
  const isPass = mode !== 'off' && now - cycleAt >= passMs;
  // A look that failed after all was applied, the server being away, has nothing new to bring.
  const isUndone = (isRetry && !isApplied) || (isPass && isRefused);
  const isFresh = isNew || isOver(settledAt) || isUndone;
  if (!isFresh && !isRetry && !isPass && !isOver(rotatesAt)) return null;
  const mayOnlyTell = isUnsure || !isFresh || isPaused;
  if (mode === 'heal' || !mayOnlyTell) return { what: 'cycle', isFresh };
  return { what: mode === 'off' && !isFresh ? 'rotations' : 'telling', isFresh };
}
