/** Nests values as deep as accepted bodies may be. */

/** Nesting of an accepted body, GATEWRIGHT_INFERENCE_JSON_DEPTH_MAX. */
const depthMax = 100;

/** Levels above a value: beyond usual bounds, and few enough for a body that adds up to six levels itself. */
export const nestings = [33, 64, depthMax - 6] as const;

/** The value below so many levels of objects and lists in turn, or of lists alone. */
export function nestedIn(value: unknown, levels: number, kind: 'both' | 'lists' = 'both'): unknown {
  let nested = value;
  for (let level = 0; level < levels; level += 1) {
    nested = kind === 'lists' || level % 2 === 0 ? [nested] : { content: nested };
  }
  return nested;
}
