/** Knows in which states a run can be, and how it gets from one into another. */
/*
 *                         submit
 *            .-------------------------------.
 *            v                               |
 *   (made) queued --begin--> in_progress --ask--> requires_action      search: in_progress, again
 *            |                |   |  '--end--> completed | incomplete | failed
 *            '----cancel------+---'                  |
 *                             v                      '--cancel--> cancelled
 *                         cancelling --stop--> cancelled
 *
 * Each of the three before `cancelling` expires ten minutes after the run was made. What ended stays as it is.
 */

export type RunStatus =
  | 'queued'
  | 'in_progress'
  | 'requires_action'
  | 'cancelling'
  | 'cancelled'
  | 'failed'
  | 'completed'
  | 'incomplete'
  | 'expired';

export type RunMove =
  /** Somebody begins to ask the model, or does so in place of another who is gone. */
  | 'begin'
  /** The model looks for texts, which is done without the caller. */
  | 'search'
  /** The model calls functions that the caller has to run. */
  | 'ask'
  /** The caller hands in what they have yielded. */
  | 'submit'
  /** The caller no longer wants it. */
  | 'cancel'
  /** Nobody asks the model any more. */
  | 'stop'
  | 'complete'
  /** A bound of tokens was met. */
  | 'cut'
  | 'fail'
  | 'expire';

const moves: Readonly<Record<RunMove, Partial<Record<RunStatus, RunStatus>>>> = {
  begin: { queued: 'in_progress', in_progress: 'in_progress' },
  search: { in_progress: 'in_progress' },
  ask: { in_progress: 'requires_action' },
  submit: { requires_action: 'queued' },
  cancel: { queued: 'cancelling', in_progress: 'cancelling', requires_action: 'cancelled' },
  stop: { cancelling: 'cancelled' },
  complete: { in_progress: 'completed' },
  cut: { in_progress: 'incomplete' },
  fail: { queued: 'failed', in_progress: 'failed' },
  expire: { queued: 'expired', in_progress: 'expired', requires_action: 'expired' },
};

const ended = new Set<RunStatus>(['cancelled', 'failed', 'completed', 'incomplete', 'expired']);

/** Null where there is no such way. */
export function statusAfter(status: RunStatus, move: RunMove): RunStatus | null {
  return moves[move][status] ?? null;
}

export function hasEnded(status: RunStatus): boolean {
  return ended.has(status);
}
