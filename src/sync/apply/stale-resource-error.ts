/** Defines the error for a resource that was changed since the plan. */

/** Somebody else changed the resource since the plan; nothing was written. */
export class StaleResourceError extends Error {
  override name = 'Stale';
}

/** The message for a resource whose version on the server differs from that in the plan. */
export const changedMeanwhile = 'it was changed on the server since the plan; run it again';
