/** Knows what it is called when somebody else was faster. */

/** Somebody else changed it since the plan; nothing was written. */
export class Stale extends Error {
  override name = 'Stale';
}
