/** Converts a complete stream to the response that its events describe, and rewrites the events with replaced texts. */
import type { ResponseForm } from './answer-passages.ts';
import { type JsonObject, type Passage, replaceTexts } from './passages.ts';
import { type StreamText, streamTextsIn } from './stream-texts.ts';

interface StreamEvent {
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
  text: string;
  /** The whole text of which the deltas are only the end, if the stream began in its middle. */
  whole: Slot | null;
}

export interface StreamAnswer {
  /** The response in non-stream form, with nothing but its texts. */
  readonly json: JsonObject;
  /** Whether all events could be interpreted; others could contain any text. */
  readonly isKnown: boolean;
  /** Returns the events with other texts, one for each passage of `json`. */
  rewrite(texts: readonly string[]): Buffer;
}

export function streamAnswer(form: ResponseForm, bytes: Buffer): StreamAnswer {
  const events = eventsOf(form, bytes.toString('utf8'));
  const slots = slotsOf(events);
  const checked = [...Map.groupBy(slots.judged, ({ group }) => group).values()];
  return {
    isKnown: events.every(({ isKnown }) => isKnown),
    json: answerOf(
      form,
      checked.map((group) => group.map(({ text }) => text)),
    ),
    rewrite: (texts) => {
      const bySlot = new Map(checked.flat().map((slot, at) => [slot, texts[at]!]));
      return Buffer.from(rewriteEvents(events, slots, bySlot));
    },
  };
}

/** Maximum whole texts of one message in which the rest of a text is searched. */
const wholesMax = 100;

interface Slots {
  /** In the order of their first delta. */
  readonly judged: readonly Slot[];
  of(streamText: StreamText): Slot;
}

function slotsOf(events: readonly StreamEvent[]): Slots {
  const all = events.flatMap(({ texts }) => texts);
  const byName = new Map<string, Slot>();
  for (const { group, slot: name, passage } of all) {
    if (name === null) continue;
    const slot = byName.get(name) ?? { group, text: '', whole: null };
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
    const slot = existing ?? { group, text: passage.text, whole: null };
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

/** The first delta of a changed text carries the replacement, the others are emptied; repeated whole texts are replaced. */
function rewriteEvents(
  events: readonly StreamEvent[],
  slots: Slots,
  bySlot: ReadonlyMap<Slot, string>,
): string {
  const replaced = new Set<Slot>();
  const textFor = (streamText: StreamText): string => {
    const slot = slots.of(streamText);
    const { text, whole } = slot;
    const { text: piece } = streamText.passage;
    if (whole !== null) return bySlot.get(whole) === whole.text ? piece : '';
    const replacement = bySlot.get(slot) ?? text;
    if (streamText.slot === null) return replacement;
    if (replacement === text) return piece;
    const isFirst = !replaced.has(slot);
    replaced.add(slot);
    return isFirst ? replacement : '';
  };
  return events
    .map(({ head, json, raw, texts }) => {
      if (json === null) return `${raw}\n\n`;
      const passages: Passage[] = texts.map(({ passage }) => passage);
      const changed = replaceTexts(json, passages, texts.map(textFor));
      return `${head}data: ${JSON.stringify(changed)}\n\n`;
    })
    .join('');
}

function eventsOf(form: ResponseForm, text: string): StreamEvent[] {
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
      const json = objectOf(content);
      const isKnown = json !== null || content === '' || content === '[DONE]';
      const texts = json === null ? [] : streamTextsIn(form, json);
      return { raw, head: head.join(''), json, isKnown, texts };
    });
}

function objectOf(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

/** Each group contains the texts of one choice or message. */
function answerOf(form: ResponseForm, groups: readonly (readonly string[])[]): JsonObject {
  const ofType = (type: string) => (text: string) => ({ type, text });
  switch (form) {
    case 'messages':
      return { content: groups.flat().map(ofType('text')) };
    case 'responses':
      return {
        output: groups
          .flat()
          .map((text) => ({ type: 'message', content: [ofType('output_text')(text)] })),
      };
    case 'completions':
      return { choices: groups.flat().map((text, index) => ({ index, text })) };
    case 'chat_completions':
      return {
        choices: groups.map((texts, index) => {
          const content = texts.length === 1 ? texts[0] : texts.map(ofType('text'));
          return { index, message: { role: 'assistant', content } };
        }),
      };
    case 'stored':
      return {
        data: groups.map((texts) => ({ role: 'assistant', content: texts.map(ofType('text')) })),
      };
  }
}
