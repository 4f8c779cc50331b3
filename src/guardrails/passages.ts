/** Finds and replaces texts in messages, their parts and items, in every supported format. */

type Step = string | number;
export type PassagePath = readonly Step[];

/** A text and its path. */
export interface Passage {
  readonly path: PassagePath;
  readonly text: string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Members of a part that contain its text, regardless of its type; thread messages nest it in `text`. */
const partTexts: readonly PassagePath[] = [
  ['text'],
  ['text', 'value'],
  ['refusal'],
  ['logs'],
  ['stdout'],
  ['stderr'],
];
/** Members of a message or another item that are text or contain parts, including tool output. */
const itemContents = ['content', 'content_parts', 'refusal', 'output', 'outputs', 'results'];

/** Maximum nesting of parts, such as tool output and search results. No provider accepts more. */
const depthMax = 16;

/** Texts of a message or another item, such as tool output. */
export function itemPassages(item: unknown, path: PassagePath): Passage[] {
  if (typeof item === 'string') return [{ path, text: item }];
  return itemContents.flatMap((name) => contentPassages(member(item, name), [...path, name]));
}

/** Texts of a string, a part, or a list of either. */
export function contentPassages(content: unknown, path: PassagePath, depth = 0): Passage[] {
  if (typeof content === 'string') return [{ path, text: content }];
  if (!Array.isArray(content)) return partPassages(content, path, depth);
  return indexedItems(content).flatMap(([part, at]) =>
    typeof part === 'string'
      ? [{ path: [...path, at], text: part }]
      : partPassages(part, [...path, at], depth),
  );
}

function partPassages(part: unknown, path: PassagePath, depth: number): Passage[] {
  if (depth > depthMax) return [];
  const own = partTexts.flatMap((steps): Passage[] => {
    const text = member(part, ...steps);
    return typeof text === 'string' ? [{ path: [...path, ...steps], text }] : [];
  });
  const within = member(part, 'content');
  if (within === undefined) return own;
  return [...own, ...contentPassages(within, [...path, 'content'], depth + 1)];
}

/** Texts of a string or a list of strings. */
export function textListPassages(value: unknown, path: PassagePath): Passage[] {
  if (typeof value === 'string') return [{ path, text: value }];
  return indexedItems(value).flatMap(([text, at]) =>
    typeof text === 'string' ? [{ path: [...path, at], text }] : [],
  );
}

/** Returns a copy with the texts replaced; unchanged parts are shared. */
export function replaceTexts(
  json: JsonObject,
  passages: readonly Passage[],
  texts: readonly string[],
): Record<string, unknown> {
  const changes = passages.flatMap(({ path, text }, at): Passage[] => {
    const replacement = texts[at];
    return replacement === undefined || replacement === text ? [] : [{ path, text: replacement }];
  });
  return replaceBelow(json, changes, 0) as Record<string, unknown>;
}

/** Copies each list and object on the paths once, however many of its texts change. */
function replaceBelow(value: unknown, changes: readonly Passage[], depth: number): unknown {
  if (changes.length === 0) return value;
  const byStep = Map.groupBy(changes, ({ path }) => path[depth]);
  const whole = byStep.get(undefined);
  if (whole !== undefined) return whole[0]!.text;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as Record<
    Step,
    unknown
  >;
  for (const [step, below] of byStep) copy[step!] = replaceBelow(copy[step!], below, depth + 1);
  return copy;
}

/** The items of a list with their indexes; empty for another value. */
export function indexedItems(list: unknown): [unknown, number][] {
  return Array.isArray(list) ? list.map((item: unknown, at) => [item, at]) : [];
}

export function member(value: unknown, ...names: PassagePath): unknown {
  let current = value;
  for (const name of names) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<Step, unknown>)[name];
  }
  return current;
}
