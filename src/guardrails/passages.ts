/** Knows how a piece of text stands in a document: in messages, their parts and items of any format, and how it is replaced. */

type Step = string | number;
export type Path = readonly Step[];

/** One piece of text, and where it stands. */
export interface Passage {
  readonly path: Path;
  readonly text: string;
}

export type Json = Readonly<Record<string, unknown>>;

/** Members of a part that are its text, whatever it says that it is; a message of a thread has it within `text`. */
const partTexts: readonly Path[] = [
  ...[['text'], ['text', 'value'], ['refusal'], ['logs'], ['stdout'], ['stderr']],
];
/** Members of a message, or of another item, that are text or hold parts: said, or answered by a tool. */
const itemContents = ['content', 'content_parts', 'refusal', 'output', 'outputs', 'results'];

/** Of parts within parts: what a tool has answered, what was found. No provider takes more. */
const depthMax = 16;

/** Of a message or another item, such as what a tool has answered. */
export function itemPassages(item: unknown, path: Path): Passage[] {
  if (typeof item === 'string') return [{ path, text: item }];
  return itemContents.flatMap((name) => contentPassages(member(item, name), [...path, name]));
}

/** A text, a part, or a list of either. */
export function contentPassages(content: unknown, path: Path, depth = 0): Passage[] {
  if (typeof content === 'string') return [{ path, text: content }];
  if (!Array.isArray(content)) return partPassages(content, path, depth);
  return each(content).flatMap(([part, at]) =>
    typeof part === 'string'
      ? [{ path: [...path, at], text: part }]
      : partPassages(part, [...path, at], depth),
  );
}

function partPassages(part: unknown, path: Path, depth: number): Passage[] {
  if (depth > depthMax) return [];
  const own = partTexts.flatMap((steps): Passage[] => {
    const text = member(part, ...steps);
    return typeof text === 'string' ? [{ path: [...path, ...steps], text }] : [];
  });
  const within = member(part, 'content');
  if (within === undefined) return own;
  return [...own, ...contentPassages(within, [...path, 'content'], depth + 1)];
}

/** A text or a list of texts. */
export function listedPassages(value: unknown, path: Path): Passage[] {
  if (typeof value === 'string') return [{ path, text: value }];
  return each(value).flatMap(([text, at]) =>
    typeof text === 'string' ? [{ path: [...path, at], text }] : [],
  );
}

/** A copy with other texts at these places; what it does not touch is shared. */
export function withTexts(
  json: Json,
  passages: readonly Passage[],
  texts: readonly string[],
): Record<string, unknown> {
  const changes = passages.flatMap(({ path, text }, at): Passage[] => {
    const by = texts[at];
    return by === undefined || by === text ? [] : [{ path, text: by }];
  });
  return changed(json, changes, 0) as Record<string, unknown>;
}

/** Each list and object on the way is copied once, however many of its texts are others. */
function changed(value: unknown, changes: readonly Passage[], depth: number): unknown {
  if (changes.length === 0) return value;
  const byStep = Map.groupBy(changes, ({ path }) => path[depth]);
  const whole = byStep.get(undefined);
  if (whole !== undefined) return whole[0]!.text;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Json) }) as Record<
    Step,
    unknown
  >;
  for (const [step, below] of byStep) copy[step!] = changed(copy[step!], below, depth + 1);
  return copy;
}

/** With its place; none of what is no list. */
export function each(list: unknown): [unknown, number][] {
  return Array.isArray(list) ? list.map((item: unknown, at) => [item, at]) : [];
}

export function member(value: unknown, ...names: Path): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<Step, unknown>)[name];
  }
  return found;
}
