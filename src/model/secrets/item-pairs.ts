/** Pairs the items of a list that is sent with the stored ones, so that masks follow items that move. */

type Level = Readonly<Record<string, unknown>>;
type Path = readonly string[];

/** The stored counterparts of the items of one level, by index. */
interface LevelPairs {
  readonly items: readonly { readonly index: number; readonly pairs: LevelPairs }[];
}

const none: LevelPairs = { items: [] };

/**
 * Returns a function that converts a path in the sent document to the path in the stored one. An item of
 * the list `key`, at any level, is paired with the only one of its name, else with the one at its place if
 * they are equal, else with the only one that is equal, else with the one at its place.
 *
 * @param masked the stored document as responses show it
 */
export function pairItems(sent: Level, masked: Level, key: string): (path: Path) => Path {
  const root = pairsOf(sent, masked, key);
  return (path) => {
    const paired = [...path];
    let { items } = root;
    for (let at = 0; path[at] === key; at += 2) {
      const pair = items[Number(path[at + 1])];
      if (pair === undefined) break;
      paired[at + 1] = `${pair.index}`;
      ({ items } = pair.pairs);
    }
    return paired;
  };
}

/** Recursion is bounded by the depth of JSON bodies (http/input/json.ts). */
function pairsOf(sent: Level, masked: Level, key: string): LevelPairs {
  const levels = itemsOf(sent, key);
  const stored = itemsOf(masked, key);
  if (levels.length === 0 || stored.length === 0) return none;
  const sentNames = levels.map(({ name }) => name);
  const storedNames = stored.map(({ name }) => name);
  const storedTexts = stored.map((level) => JSON.stringify(level));
  const items = levels.map((level, at) => {
    const text = JSON.stringify(level);
    const isNamed = typeof level.name === 'string' && onlyIndexOf(sentNames, level.name) !== null;
    const index =
      (isNamed ? onlyIndexOf(storedNames, level.name) : null) ??
      (storedTexts[at] === text ? at : onlyIndexOf(storedTexts, text)) ??
      at;
    return { index, pairs: pairsOf(level, stored[index] ?? {}, key) };
  });
  return { items };
}

/** Null when the value occurs never or more than once. */
function onlyIndexOf(values: readonly unknown[], value: unknown): number | null {
  const first = values.indexOf(value);
  return first < 0 || values.includes(value, first + 1) ? null : first;
}

function itemsOf(level: Level, key: string): readonly Level[] {
  return Array.isArray(level[key]) ? (level[key] as Level[]) : [];
}
