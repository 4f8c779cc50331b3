/** Pairs the targets of a document that is sent with the stored ones, so that masks follow moved targets. */
import type { ConfigDocument } from './config.ts';
import type { ConfigPath } from './config-secrets.ts';

type Level = Readonly<Record<string, unknown>>;

/** The stored counterparts of one level's targets, by index. */
interface LevelPairs {
  readonly targets: readonly { readonly index: number; readonly pairs: LevelPairs }[];
}

const none: LevelPairs = { targets: [] };

/**
 * Returns a function that converts a path in the sent document to the path in the stored one. A target is
 * paired with the only one of its name, else with the one at its place if they are equal, else with the
 * only one that is equal, else with the one at its place.
 *
 * @param masked the stored document as responses show it
 */
export function pairTargets(
  sent: ConfigDocument,
  masked: ConfigDocument,
): (path: ConfigPath) => ConfigPath {
  const root = pairsOf(sent, masked);
  return (path) => {
    const paired = [...path];
    let { targets } = root;
    for (let at = 0; path[at] === 'targets'; at += 2) {
      const pair = targets[Number(path[at + 1])];
      if (pair === undefined) break;
      paired[at + 1] = `${pair.index}`;
      ({ targets } = pair.pairs);
    }
    return paired;
  };
}

/** Recursion is bounded by the number of nested targets that a document may have. */
function pairsOf(sent: Level, masked: Level): LevelPairs {
  const levels = targetsOf(sent);
  const stored = targetsOf(masked);
  if (levels.length === 0 || stored.length === 0) return none;
  const sentNames = levels.map(({ name }) => name);
  const storedNames = stored.map(({ name }) => name);
  const storedTexts = stored.map((level) => JSON.stringify(level));
  const targets = levels.map((level, at) => {
    const text = JSON.stringify(level);
    const isNamed = typeof level.name === 'string' && onlyIndexOf(sentNames, level.name) !== null;
    const index =
      (isNamed ? onlyIndexOf(storedNames, level.name) : null) ??
      (storedTexts[at] === text ? at : onlyIndexOf(storedTexts, text)) ??
      at;
    return { index, pairs: pairsOf(level, stored[index] ?? {}) };
  });
  return { targets };
}

/** Null when the value occurs never or more than once. */
function onlyIndexOf(values: readonly unknown[], value: unknown): number | null {
  const first = values.indexOf(value);
  return first < 0 || values.includes(value, first + 1) ? null : first;
}

function targetsOf(level: Level): readonly Level[] {
  return Array.isArray(level.targets) ? (level.targets as Level[]) : [];
}
