/** Owns promises that nothing awaits: a rejection is reported to the observers of the process and ends nothing. */

type Report = (error: unknown, task: string) => void;

const observers = new Set<Report>();

/**
 * Runs `work` without waiting for it. `task` names it in the log: `the poll for changes`. The observers are
 * shared by the process because a rejection without a handler would end the whole process as well.
 */
export function detach(task: string, work: Promise<unknown> | undefined): void {
  work?.catch((error: unknown) => reportUnexpected(error, task));
}

/** Reports an error that no caller can receive; as a warning of the process while nothing observes. */
export function reportUnexpected(error: unknown, task: string): void {
  if (observers.size === 0) process.emitWarning(`${task} failed: ${String(error)}`);
  for (const report of observers) report(error, task);
}

/** Reports unexpected errors to `report` until the returned function is called. */
export function observeUnexpected(report: Report): () => void {
  observers.add(report);
  return () => void observers.delete(report);
}
