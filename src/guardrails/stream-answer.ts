/** Knows a stream that has come whole: the answer that its events tell, and the events of that answer with other texts. */
import type { AnsweredForm } from './answer-passages.ts';
import { type Json, type Passage, withTexts } from './passages.ts';
import { type Told, toldIn } from './stream-events.ts';

interface StreamEvent {
  /** All lines but those of data. */
  readonly head: string;
  /** Null where the data are no JSON object. */
  readonly json: Json | null;
  readonly raw: string;
  /** Whether it is known what it says, if anything. */
  readonly isKnown: boolean;
  readonly told: readonly Told[];
}

/** One text of the answer, in all its pieces and wherever it is told again. */
interface Slot {
  readonly group: string;
  text: string;
  /** The text that its pieces are only the end of, as the stream began in the middle of it. */
  whole: Slot | null;
}

export interface StreamAnswer {
  /** In the form of an answer that is no stream, with its texts and nothing else. */
  readonly json: Json;
  /** Whether all that its events say is known; others could say anything. */
  readonly isKnown: boolean;
  /** The events of the same answer with other texts, one for each passage of `json`. */
  rewritten(texts: readonly string[]): Buffer;
}

export function streamAnswer(form: AnsweredForm, bytes: Buffer): StreamAnswer {
  const events = eventsOf(form, bytes.toString('utf8'));
  const slots = slotsOf(events);
  const judged = [...Map.groupBy(slots.judged, ({ group }) => group).values()];
  return {
    isKnown: events.every(({ isKnown }) => isKnown),
    json: answerOf(
      form,
      judged.map((group) => group.map(({ text }) => text)),
    ),
    rewritten: (texts) => {
      const bySlot = new Map(judged.flat().map((slot, at) => [slot, texts[at]!]));
      return Buffer.from(rewrittenText(events, slots, bySlot));
    },
  };
}

/** Of one message, among which the rest of one that has begun before is looked for. */
const wholesMax = 100;

interface Slots {
  /** In the order of their first word. */
  readonly judged: readonly Slot[];
  of(told: Told): Slot;
}

function slotsOf(events: readonly StreamEvent[]): Slots {
  const all = events.flatMap(({ told }) => told);
  const byName = new Map<string, Slot>();
  for (const { group, slot: name, passage } of all) {
    if (name === null) continue;
    const slot = byName.get(name) ?? { group, text: '', whole: null };
    slot.text += passage.text;
    byName.set(name, slot);
  }
  const placeOf = (group: string, text: string): string => `${group} ${text}`;
  const byText = new Map(
    [...byName.values()].map((slot) => [placeOf(slot.group, slot.text), slot]),
  );
  const toldAgain = new Set<Slot>();
  const wholes: Slot[] = [];
  for (const { group, slot: name, passage } of all) {
    if (name !== null) continue;
    const place = placeOf(group, passage.text);
    const known = byText.get(place);
    const slot = known ?? { group, text: passage.text, whole: null };
    if (known === undefined) wholes.push(slot);
    byText.set(place, slot);
    toldAgain.add(slot);
  }
  const byGroup = Map.groupBy(wholes, ({ group }) => group);
  for (const slot of byName.values()) {
    if (toldAgain.has(slot)) continue;
    const some = byGroup.get(slot.group)?.slice(0, wholesMax) ?? [];
    slot.whole = some.find(({ text }) => text.endsWith(slot.text)) ?? null;
  }
  const judged = [...byName.values(), ...wholes];
  return {
    judged: judged.filter(({ whole, text }) => whole === null && text !== ''),
    of: ({ group, slot: name, passage }) =>
      name === null ? byText.get(placeOf(group, passage.text))! : byName.get(name)!,
  };
}

/** The first piece of a text carries all of it, the others nothing; whole texts that are told again are replaced. */
function rewrittenText(
  events: readonly StreamEvent[],
  slots: Slots,
  bySlot: ReadonlyMap<Slot, string>,
): string {
  const begun = new Set<Slot>();
  const textFor = (told: Told): string => {
    const slot = slots.of(told);
    const { text, whole } = slot;
    const { text: piece } = told.passage;
    if (whole !== null) return bySlot.get(whole) === whole.text ? piece : '';
    const by = bySlot.get(slot) ?? text;
    if (told.slot === null) return by;
    if (by === text) return piece;
    const isFirst = !begun.has(slot);
    begun.add(slot);
    return isFirst ? by : '';
  };
  return events
    .map(({ head, json, raw, told }) => {
      if (json === null) return `${raw}\n\n`;
      const passages: Passage[] = told.map(({ passage }) => passage);
      const changed = withTexts(json, passages, told.map(textFor));
      return `${head}data: ${JSON.stringify(changed)}\n\n`;
    })
    .join('');
}

function eventsOf(form: AnsweredForm, text: string): StreamEvent[] {
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
      const said = data.join('\n');
      const json = objectOf(said);
      const isKnown = json !== null || said === '' || said === '[DONE]';
      const told = json === null ? [] : toldIn(form, json);
      return { raw, head: head.join(''), json, isKnown, told };
    });
}

function objectOf(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Json)
      : null;
  } catch {
    return null;
  }
}

/** `groups` are texts of one choice, one message. */
function answerOf(form: AnsweredForm, groups: readonly (readonly string[])[]): Json {
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
    case 'kept':
      return {
        data: groups.map((texts) => ({ role: 'assistant', content: texts.map(ofType('text')) })),
      };
  }
}
