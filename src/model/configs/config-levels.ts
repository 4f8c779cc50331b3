/** Walks the levels of a config document: its root and every target below it, in the order of the text. */

/** One level of a document. */
export interface ConfigLevel {
  readonly level: unknown;
  /** Path in the document. */
  readonly path: readonly (string | number)[];
  /** Index of the root target that contains this level; null for the root itself. */
  readonly rootTarget: number | null;
}

/** Iterative, so that no nesting can exhaust the process. */
export function* configLevels(document: unknown): Generator<ConfigLevel> {
  const pending: ConfigLevel[] = [{ level: document, path: [], rootTarget: null }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    yield visit;
    pending.push(...targetsOf(visit).reverse());
  }
}

function targetsOf({ level, path, rootTarget }: ConfigLevel): ConfigLevel[] {
  if (typeof level !== 'object' || level === null) return [];
  const { targets } = level as Record<string, unknown>;
  if (!Array.isArray(targets)) return [];
  return targets.map((target: unknown, at) => ({
    level: target,
    path: [...path, 'targets', at],
    rootTarget: rootTarget ?? at,
  }));
}
