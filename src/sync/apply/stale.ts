/** Knows what it is called when somebody else was faster. */

/** Somebody else changed it since the plan; nothing was written. */
export class Stale extends Error {
  override name = 'Stale';
}

/** Of what the server has in another version than the plan. */
export const changedMeanwhile = 'it was changed on the server since the plan; run it again';
