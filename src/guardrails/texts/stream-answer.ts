/** Converts a complete stream to the response that its events describe, and rewrites the events with replaced texts. */
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import { isRawJSON } from '../../model/json/raw-json.ts';
import { readJsonObject } from '../../model/json/read-object.ts';
import { runAtOnce } from '../../slices.ts';
import { toolCallsInEvents } from '../calls/streamed-tool-calls.ts';
import type { ToolCall } from '../calls/tool-calls.ts';
import type { ResponseForm } from './answer-passages.ts';
import { type JsonObject, type Passage, replaceTexts } from './passages.ts';
import { plainJson, TextsUnreadable } from './stored-text.ts';
import { type StreamText, streamTextsIn } from './stream-texts.ts';

export interface AnswerEvent {
  /** All lines except data lines. */
  readonly head: string;
  /** Null if the data is not a JSON object. */
  readonly json: JsonObject | null;
  readonly raw: string;
  /** Whether the event can be interpreted completely. */
  readonly isKnown: boolean;
  readonly texts: readonly StreamText[];
}

/** One text of the response: all its deltas and all repetitions of the whole text. */
interface Slot {
  readonly group: string;
  readonly isAside: boolean;
  text: string;
  /** The whole text of which the deltas are only the end, if the stream began in its middle. */
  whole: Slot | null;
}

export interface StreamAnswer {
  /** The response in non-stream form, with nothing but its texts. */
  readonly json: JsonObject;
  /** Whether all events could be interpreted; others could contain any text. */
  readonly isKnown: boolean;
  /** Finds the calls of tools. */
  toolCalls(): readonly ToolCall[];
  /** Returns the events with other texts, one for each passage of `json`. */
  rewrite(texts: readonly string[]): Buffer;
}

export function streamAnswer(form: ResponseForm, bytes: Buffer): StreamAnswer {
  const events = readStreamEvents(form, bytes.toString('utf8'));
  const slots = slotsOf(events);
  const checked = [...Map.groupBy(slots.judged, ({ group }) => group).values()];
  return {
    isKnown: events.every(({ isKnown }) => isKnown),
    json: answerOf(form, checked),
    toolCalls: () => toolCallsInEvents(events.flatMap(({ json }) => (json === null ? [] : [json]))),
    rewrite: (texts) => {
      const bySlot = new Map(checked.flat().map((slot, at) => [slot, replaced(slot, texts[at]!)]));
      return Buffer.from(rewriteEvents(events, slots, bySlot));
    },
  };
}

/** Escapes in a text are removed before it is judged, which is no replacement. */
function replaced({ text }: Slot, judged: string): string {
  return judged === plainJson(text) ? text : judged;
}

/** Maximum whole texts of one message in which the rest of a text is searched. */
const wholesMax = 100;

interface Slots {
  /** In the order of their first delta. */
  readonly judged: readonly Slot[];
  of(streamText: StreamText): Slot;
}

function slotsOf(events: readonly AnswerEvent[]): Slots {
  const all = events.flatMap(({ texts }) => texts);
  const byName = new Map<string, Slot>();
  for (const { group, slot: name, passage } of all) {
    if (name === null) continue;
    const slot = byName.get(name) ?? slotFor(group, passage, '');
    slot.text += passage.text;
    byName.set(name, slot);
  }
  const keyOf = (group: string, text: string): string => `${group} ${text}`;
  const byText = new Map([...byName.values()].map((slot) => [keyOf(slot.group, slot.text), slot]));
  const repeated = new Set<Slot>();
  const wholes: Slot[] = [];
  for (const { group, slot: name, passage } of all) {
    if (name !== null) continue;
    const key = keyOf(group, passage.text);
    const existing = byText.get(key);
    const slot = existing ?? slotFor(group, passage, passage.text);
    if (existing === undefined) wholes.push(slot);
    byText.set(key, slot);
    repeated.add(slot);
  }
  const byGroup = Map.groupBy(wholes, ({ group }) => group);
  for (const slot of byName.values()) {
    if (repeated.has(slot)) continue;
    const candidates = byGroup.get(slot.group)?.slice(0, wholesMax) ?? [];
    slot.whole = candidates.find(({ text }) => text.endsWith(slot.text)) ?? null;
  }
  const judged = [...byName.values(), ...wholes];
  return {
    judged: judged.filter(({ whole, text }) => whole === null && text !== ''),
    of: ({ group, slot: name, passage }) =>
      name === null ? byText.get(keyOf(group, passage.text))! : byName.get(name)!,
  };
}

function slotFor(group: string, { isAside = false }: Passage, text: string): Slot {
  return { group, isAside, text, whole: null };
}

/** The first delta of a changed text carries the replacement, the others are emptied; repeated whole texts are replaced. */
function rewriteEvents(
  events: readonly AnswerEvent[],
  slots: Slots,
  bySlot: ReadonlyMap<Slot, string>,
): string {
  const begun = new Set<Slot>();
  const textFor = (streamText: StreamText): string => {
    const slot = slots.of(streamText);
    const { text, whole } = slot;
    const { text: piece } = streamText.passage;
    if (whole !== null) return bySlot.get(whole) === whole.text ? piece : '';
    const replacement = bySlot.get(slot) ?? text;
    if (streamText.slot === null) return replacement;
    if (replacement === text) return piece;
    const isFirst = !begun.has(slot);
    begun.add(slot);
    return isFirst ? replacement : '';
  };
  return events
    .map((event) => {
      const { json, texts } = event;
      if (json === null) return writeStreamEvent(event, null);
      const passages: Passage[] = texts.map(({ passage }) => passage);
      return writeStreamEvent(event, replaceTexts(json, passages, texts.map(textFor)));
    })
    .join('');
}

/** Writes an event with other data; null keeps it as it is. */
export function writeStreamEvent({ head, raw }: AnswerEvent, changed: JsonObject | null): string {
  return changed === null ? `${raw}\n\n` : `${head}data: ${JSON.stringify(changed)}\n\n`;
}

/** Reads complete events. */
export function readStreamEvents(form: ResponseForm, text: string): AnswerEvent[] {
  return text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .split('\n\n')
    .filter((raw) => raw.trim() !== '')
    .map((raw) => {
      const lines = raw.split('\n');
      const isData = (line: string): boolean => line.startsWith('data:');
      const data = lines.filter(isData).map((line) => line.slice('data:'.length).trim());
      const head = lines.filter((line) => !isData(line)).map((line) => `${line}\n`);
      const content = data.join('\n');
      const json = readJsonObject(content);
      const texts = json === null ? [] : textsOrNull(form, json);
      const isEmpty = content === '' || content === '[DONE]';
      const isKnown = texts !== null && (json === null ? isEmpty : !repeatsMember(content, json));
      return { raw, head: head.join(''), json, isKnown, texts: texts ?? [] };
    });
}

/** Whether an object repeats a member, of which the caller could read another one than was judged. */
function repeatsMember(content: string, json: JsonObject): boolean {
  // Few events have as many quotation marks before a colon without a member in each of them.
  const colons = content.match(/"\s*:/g)?.length ?? 0;
  return colons > membersIn(json) && runAtOnce(findDuplicateKeys(Buffer.from(content)));
}

function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || isRawJSON(value)) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const below of Object.values(value)) count += membersIn(below);
  return count;
}

/** Null for an event that is nested too deeply to be judged. */
function textsOrNull(form: ResponseForm, event: JsonObject): readonly StreamText[] | null {
  try {
    return streamTextsIn(form, event);
  } catch (error) {
    if (error instanceof TextsUnreadable) return null;
    throw error;
  }
}

/** Each group contains the texts of one choice or message; `answersIn` finds them in the same order. */
function answerOf(form: ResponseForm, groups: readonly (readonly Slot[])[]): JsonObject {
  switch (form) {
    case 'messages':
      return { content: groups.flat().map(partOf) };
    case 'responses':
      return { output: groups.flat().map(itemOf) };
    case 'completions':
      return { choices: groups.flat().map(completionOf) };
    case 'chat_completions':
      return {
        choices: groups.map((slots, index) => {
          const [first] = slots;
          const isPlain = slots.length === 1 && !first!.isAside;
          const content = isPlain ? first!.text : slots.map(partOf);
          return { index, message: { role: 'assistant', content } };
        }),
      };
    case 'converse':
      return { output: { message: { content: groups.flat().map(blockOf) } } };
    case 'gemini':
      return {
        candidates: groups.map((slots, index) => ({
          index,
          content: { role: 'model', parts: slots.map(geminiPartOf) },
        })),
      };
    case 'stored':
      return { data: groups.map((slots) => ({ role: 'assistant', content: slots.map(partOf) })) };
    case 'unknown':
      return { texts: groups.flat().map(({ text }) => text) };
  }
}

function partOf({ isAside, text }: Slot): JsonObject {
  return { type: isAside ? 'reasoning' : 'text', text };
}

function blockOf({ isAside, text }: Slot): JsonObject {
  return isAside ? { reasoningContent: { reasoningText: { text } } } : { text };
}

function geminiPartOf({ isAside, text }: Slot): JsonObject {
  return isAside ? { thought: true, text } : { text };
}

function itemOf({ isAside, text }: Slot): JsonObject {
  return isAside
    ? { type: 'reasoning', content: [{ type: 'reasoning_text', text }] }
    : { type: 'message', content: [{ type: 'output_text', text }] };
}

function completionOf({ isAside, text }: Slot, index: number): JsonObject {
  return isAside ? { index, reasoning: text } : { index, text };
}
