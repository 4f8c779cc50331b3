/** Defines passages, the texts that guardrails judge, and replaces them in their JSON documents. */
import { repeatingMembers } from './non-text-members.ts';
import { encodeText, type StoredText } from './stored-text.ts';

type Step = string | number;
export type PassagePath = readonly Step[];

/** A text and its path. */
export interface Passage {
  readonly path: PassagePath;
  readonly text: string;
  /** Whether the text accompanies the message: a tool's description, arguments, reasoning. */
  readonly isAside?: boolean | undefined;
  /** Whether the text is the name of the member, not its value. */
  readonly isName?: boolean | undefined;
  /** How the document stores the text; absent if it contains the text itself. */
  readonly stored?: StoredText | undefined;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns a copy with the texts replaced; unchanged parts are shared. */
export function replaceTexts(
  json: JsonObject,
  passages: readonly Passage[],
  texts: readonly string[],
): Record<string, unknown> {
  const changes = passages.flatMap((passage, at): Passage[] => {
    const { text, stored } = passage;
    const replacement = texts[at];
    if (replacement === undefined || replacement === text) return [];
    const value = stored === undefined ? replacement : encodeText(stored, replacement);
    return [{ ...passage, text: value }];
  });
  return replaceBelow(json, changes, 0) as Record<string, unknown>;
}

/**
 * Copies each list and object on the paths once, however many of its texts change. Probabilities beside a
 * changed text are removed, because they repeat it.
 */
function replaceBelow(value: unknown, changes: readonly Passage[], depth: number): unknown {
  if (changes.length === 0) return value;
  const byStep = Map.groupBy(changes, ({ path }) => path[depth]);
  const whole = byStep.get(undefined);
  if (whole !== undefined) return whole[0]!.text;
  if (Array.isArray(value)) {
    const copy: unknown[] = [...(value as unknown[])];
    for (const [step, below] of byStep) {
      copy[step as number] = replaceBelow(copy[step as number], below, depth + 1);
    }
    return copy;
  }
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, below]) => {
      const own = byStep.get(name);
      if (own === undefined) return [name, isRepetition(name, below) ? null : below];
      const isOwnName = ({ path, isName }: Passage): boolean =>
        isName === true && path.length === depth + 1;
      const newName = own.find(isOwnName)?.text ?? name;
      const inside = own.filter((change) => !isOwnName(change));
      return [newName, replaceBelow(below, inside, depth + 1)];
    }),
  );
}

function isRepetition(name: string, value: unknown): boolean {
  return repeatingMembers.has(name) && typeof value === 'object';
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
