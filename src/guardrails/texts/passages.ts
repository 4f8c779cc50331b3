/** Defines passages, the texts that guardrails judge, and replaces them in their JSON documents. */
import { runAtOnce, type Slices } from '../../slices.ts';
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
  return runAtOnce(writeTexts(json, passages, texts));
}

/** {@link replaceTexts} that can be interrupted. */
export function* writeTexts(
  json: JsonObject,
  passages: readonly Passage[],
  texts: readonly string[],
): Slices<Record<string, unknown>> {
  const changes: Passage[] = [];
  for (const [at, passage] of passages.entries()) {
    if (at % interruptedPassages === 0) yield;
    const { text, stored } = passage;
    const replacement = texts[at];
    if (replacement === undefined || replacement === text) continue;
    const value = stored === undefined ? replacement : encodeText(stored, replacement);
    changes.push({ ...passage, text: value });
  }
  return (yield* replaceBelow(json, changes, 0)) as Record<string, unknown>;
}

/** Passages between two interruptions. */
const interruptedPassages = 1_000;

/**
 * Copies each list and object on the paths once, however many of its texts change. Probabilities beside a
 * changed text are removed, because they repeat it.
 */
function* replaceBelow(
  value: unknown,
  changes: readonly Passage[],
  depth: number,
): Slices<unknown> {
  if (changes.length === 0) return value;
  if (changes.length > interruptedPassages) yield;
  const byStep = yield* groupByStep(changes, depth);
  const whole = byStep.get(undefined);
  if (whole !== undefined) return whole[0]!.text;
  if (Array.isArray(value)) {
    const copy: unknown[] = [...(value as unknown[])];
    let at = 0;
    for (const [step, below] of byStep) {
      at += 1;
      if (at % interruptedPassages === 0) yield;
      copy[step as number] = yield* replaceBelow(copy[step as number], below, depth + 1);
    }
    return copy;
  }
  const members: [string, unknown][] = [];
  for (const [name, below] of Object.entries(value as JsonObject)) {
    const own = byStep.get(name);
    if (own === undefined) members.push([name, isRepetition(name, below) ? null : below]);
    else members.push(yield* replaceMember([name, below], own, depth));
  }
  return Object.fromEntries(members);
}

function* groupByStep(
  changes: readonly Passage[],
  depth: number,
): Slices<Map<Step | undefined, Passage[]>> {
  const groups = new Map<Step | undefined, Passage[]>();
  for (const [at, change] of changes.entries()) {
    if (at % interruptedPassages === interruptedPassages - 1) yield;
    const group = groups.get(change.path[depth]);
    if (group === undefined) groups.set(change.path[depth], [change]);
    else group.push(change);
  }
  return groups;
}

function* replaceMember(
  [name, below]: readonly [string, unknown],
  changes: readonly Passage[],
  depth: number,
): Slices<[string, unknown]> {
  const isOwnName = ({ path, isName }: Passage): boolean =>
    isName === true && path.length === depth + 1;
  const newName = changes.find(isOwnName)?.text ?? name;
  const inside = changes.filter((change) => !isOwnName(change));
  return [newName, yield* replaceBelow(below, inside, depth + 1)];
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
