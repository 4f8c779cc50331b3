/** Knows a stream that has come whole: the answer that its events tell, and the events of that answer with other texts. */

type Json = Record<string, unknown>;

interface StreamEvent {
  /** All lines but those of data. */
  readonly head: string;
  /** Null where the data are no JSON object. */
  readonly json: Json | null;
  readonly raw: string;
}

/** A piece of text that one event adds. */
interface Piece {
  readonly event: number;
  /** Which text of the answer it belongs to. */
  readonly slot: string;
  readonly text: string;
  readonly withText: (json: Json, text: string) => Json;
}

export interface StreamAnswer {
  /** In the form of an answer that is no stream, with its texts and nothing else. */
  readonly json: Json;
  /** The events of the same answer with other texts, one for each passage of `json`. */
  rewritten(texts: readonly string[]): Buffer;
}

/** `endpoint` is one that answers with text. */
export function streamAnswer(endpoint: string, bytes: Buffer): StreamAnswer {
  const events = eventsOf(bytes.toString('utf8'));
  const pieces = events.flatMap(({ json }, at) =>
    json === null ? [] : piecesOf(endpoint, json).map((piece) => ({ ...piece, event: at })),
  );
  const texts = new Map<string, string>();
  for (const { slot, text } of pieces) texts.set(slot, (texts.get(slot) ?? '') + text);
  const slots = [...texts.keys()];
  return {
    json: answerOf(endpoint, [...texts.values()]),
    rewritten: (changed) => {
      const byOld = new Map(slots.map((slot, at) => [texts.get(slot)!, changed[at]!]));
      const bySlot = new Map(slots.map((slot, at) => [slot, changed[at]!]));
      return Buffer.from(rewrittenText(events, pieces, bySlot, byOld));
    },
  };
}

/** The first piece of a text carries all of it, the others nothing; whole texts that are told again are replaced. */
function rewrittenText(
  events: readonly StreamEvent[],
  pieces: readonly Piece[],
  bySlot: ReadonlyMap<string, string>,
  byOld: ReadonlyMap<string, string>,
): string {
  const changed = new Map<number, Json>();
  const begun = new Set<string>();
  for (const { event, slot, withText } of pieces) {
    const json = changed.get(event) ?? events[event]!.json!;
    changed.set(event, withText(json, begun.has(slot) ? '' : bySlot.get(slot)!));
    begun.add(slot);
  }
  return events
    .map(({ head, json, raw }, at) => {
      if (json === null) return `${raw}\n\n`;
      const told = changed.get(at) ?? (withTexts(json, byOld) as Json);
      return `${head}data: ${JSON.stringify(told)}\n\n`;
    })
    .join('');
}

/** Members called `text` that hold a whole text of the answer. */
function withTexts(value: unknown, byOld: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withTexts(item, byOld));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const isText = key === 'text' && typeof item === 'string';
    return [key, isText ? (byOld.get(item) ?? item) : withTexts(item, byOld)];
  });
  return Object.fromEntries(entries) as Json;
}

function eventsOf(text: string): StreamEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((raw) => raw.trim() !== '')
    .map((raw) => {
      const lines = raw.split(/\r?\n/);
      const isData = (line: string): boolean => line.startsWith('data:');
      const data = lines.filter(isData).map((line) => line.slice('data:'.length).trim());
      const head = lines.filter((line) => !isData(line)).map((line) => `${line}\n`);
      return { raw, head: head.join(''), json: objectOf(data.join('\n')) };
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

type Told = Omit<Piece, 'event'>;

function piecesOf(endpoint: string, json: Json): Told[] {
  if (endpoint === 'messages') return messagePieces(json);
  if (endpoint === 'responses') return responsePieces(json);
  return choicePieces(endpoint, json);
}

function choicePieces(endpoint: string, json: Json): Told[] {
  const choices = Array.isArray(json.choices) ? (json.choices as Json[]) : [];
  return choices.flatMap((choice, at) => {
    const holder = endpoint === 'completions' ? choice : ((choice.delta ?? {}) as Json);
    const name = endpoint === 'completions' ? 'text' : 'content';
    const text = holder[name];
    if (typeof text !== 'string') return [];
    const withText = (whole: Json, by: string): Json => {
      const list = whole.choices as Json[];
      const one = list[at]!;
      const next =
        endpoint === 'completions'
          ? { ...one, text: by }
          : { ...one, delta: { ...(one.delta as Json), content: by } };
      return { ...whole, choices: list.with(at, next) };
    };
    return [{ slot: String(choice.index ?? at), text, withText }];
  });
}

function messagePieces(json: Json): Told[] {
  const delta = (json.delta ?? {}) as Json;
  if (json.type !== 'content_block_delta' || typeof delta.text !== 'string') return [];
  const withText = (whole: Json, by: string): Json => ({
    ...whole,
    delta: { ...(whole.delta as Json), text: by },
  });
  return [{ slot: String(json.index), text: delta.text, withText }];
}

function responsePieces(json: Json): Told[] {
  if (json.type !== 'response.output_text.delta' || typeof json.delta !== 'string') return [];
  const slot = `${String(json.output_index)} ${String(json.content_index)}`;
  return [{ slot, text: json.delta, withText: (whole, by) => ({ ...whole, delta: by }) }];
}

function answerOf(endpoint: string, texts: readonly string[]): Json {
  switch (endpoint) {
    case 'messages':
      return { content: texts.map((text) => ({ type: 'text', text })) };
    case 'responses':
      return {
        output: texts.map((text) => ({
          type: 'message',
          content: [{ type: 'output_text', text }],
        })),
      };
    case 'completions':
      return { choices: texts.map((text, index) => ({ index, text })) };
    default:
      return {
        choices: texts.map((content, index) => ({
          index,
          message: { role: 'assistant', content },
        })),
      };
  }
}
