/**
 * Decides what a look at the source leads to: a cycle, rotations only, a drift pass, or nothing.
 */

/** How drift is handled, and how often it is looked for. */
export interface DriftPolicy {
  readonly mode: 'heal' | 'report' | 'off';
  /** Time between two passes over an unchanged source, ms. */
  readonly passMs: number;
}

/** State of a loop between two looks; times are ms since the epoch, null for never. */
export interface LoopState {
  /** Whether the last cycle applied all of the version. */
  isApplied: boolean;
  /** Whether a guard refused the last cycle of the version, so that nothing was applied. */
  isRefused: boolean;
  /** Whether the version may have been applied before this process led. */
  mayBeApplied: boolean;
  /** Whether part of the version waits for the end of a suspension. */
  isPaused: boolean;
  /** Time of the last cycle or pass. */
  cycleAt: number;
  retryAt: number | null;
  /** Time of the next key rotation. */
  rotatesAt: number | null;
}

/** State of a version that is seen for the first time. */
export const newVersionState = { isApplied: false, isRefused: false, isPaused: false } as const;

/** State at the start of a process. */
export const initialLoopState: Readonly<LoopState> = {
  ...newVersionState,
  mayBeApplied: true,
  cycleAt: Number.NEGATIVE_INFINITY,
  retryAt: null,
  rotatesAt: null,
};

export interface DueFacts {
  readonly now: number;
  /** Whether the version differs from that of the last cycle. */
  readonly isNew: boolean;
  /** Time at which the resources that left the source have waited long enough. */
  readonly settledAt: number | null;
}

export interface DueAction {
  readonly what: 'cycle' | 'rotations' | 'report';
  /** Whether the version may contain something that was not applied. */
  readonly isFresh: boolean;
}

/** Returns null when nothing is due. */
export function findDueAction(
  state: Readonly<LoopState>,
  { now, isNew, settledAt }: DueFacts,
  { mode, passMs }: DriftPolicy,
): DueAction | null {
  const {
    isApplied,
    isRefused,
    mayBeApplied: isUnsure,
    isPaused,
    cycleAt,
    retryAt,
    rotatesAt,
  } = state;
  const isOver = (moment: number | null): boolean => moment !== null && now >= moment;
  const isRetry = isOver(retryAt);
  const isPass = mode !== 'off' && now - cycleAt >= passMs;
  // A retry after an unreachable server brings nothing new when everything had been applied.
  const isUndone = (isRetry && !isApplied) || (isPass && isRefused);
  const isFresh = isNew || isOver(settledAt) || isUndone;
  if (!isFresh && !isRetry && !isPass && !isOver(rotatesAt)) return null;
  const mayOnlyReport = isUnsure || !isFresh || isPaused;
  if (mode === 'heal' || !mayOnlyReport) return { what: 'cycle', isFresh };
  return { what: mode === 'off' && !isFresh ? 'rotations' : 'report', isFresh };
}
