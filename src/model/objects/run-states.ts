/** Defines the states of a run and the transitions between them. */
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
 * A run in one of the three states before `cancelling` expires ten minutes after its creation. Final states never change.
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
  /** A driver starts to call the model, or takes over from a driver that is gone. */
  | 'begin'
  /** The model calls file search, which the gateway runs without the caller. */
  | 'search'
  /** The model calls functions that the caller must run. */
  | 'ask'
  /** The caller submits the outputs of its functions. */
  | 'submit'
  /** The caller cancels the run. */
  | 'cancel'
  /** No driver calls the model any more. */
  | 'stop'
  | 'complete'
  /** A token limit was reached. */
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

/** Null when the transition is not allowed in this state. */
export function statusAfter(status: RunStatus, move: RunMove): RunStatus | null {
  return moves[move][status] ?? null;
}

export function hasEnded(status: RunStatus): boolean {
  return ended.has(status);
}
