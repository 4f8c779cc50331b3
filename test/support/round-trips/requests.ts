/** Generates requests of conversations in a form that belongs to no provider, and writes them for callers. */
import fc from 'fast-check';

type Json = Readonly<Record<string, unknown>>;

type UserPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly url: string }
  | { readonly kind: 'pdf'; readonly base64: string; readonly name: string };

interface Call {
  readonly name: string;
  readonly args: Json;
  readonly result: string;
}

interface Turn {
  readonly question: readonly UserPart[];
  readonly answer: string;
  readonly calls: readonly Call[];
}

export interface Conversation {
  readonly system: string | null;
  readonly turns: readonly Turn[];
  readonly last: readonly UserPart[];
  readonly choice: 'auto' | 'none' | 'required' | 'weather' | null;
  readonly isSequential: boolean;
  readonly hasSchema: boolean;
  readonly stops: readonly string[];
  readonly temperature: number | null;
  readonly maxTokens: number;
  readonly isStream: boolean;
}

const words = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' });
const base64 = fc.base64String({ minLength: 4, maxLength: 16 });
const text = words.map((value) => ({ kind: 'text', text: value }) as const);
const image = fc
  .oneof(
    base64.map((data) => `data:image/png;base64,${data}`),
    fc.webUrl().map((url) => `${url}/a.png`),
  )
  .map((url) => ({ kind: 'image', url }) as const);
const pdf = fc
  .record({ base64, name: fc.constantFrom('a.pdf', 'b.pdf') })
  .map((file) => ({ kind: 'pdf', ...file }) as const);
const question = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(text) },
  { weight: 1, arbitrary: fc.tuple(text, fc.oneof(image, pdf), text) },
) as fc.Arbitrary<readonly UserPart[]>;
const args = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 6 }).filter((name) => name !== '__proto__'),
  fc.oneof(words, fc.integer(), fc.boolean()),
  { maxKeys: 3 },
);
const call = fc.record({ name: fc.constantFrom('weather', 'search'), args, result: words });

export const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: fc.option(words),
  turns: fc.array(
    fc.record({
      question,
      // Anthropic refuses answers of blanks alone.
      answer: words.filter((one) => one.trim() !== ''),
      calls: fc.array(call, { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
  last: question,
  choice: fc.constantFrom('auto', 'none', 'required', 'weather', null),
  isSequential: fc.boolean(),
  hasSchema: fc.boolean(),
  stops: fc.array(words, { minLength: 1, maxLength: 2 }),
  temperature: fc.option(fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10)),
  maxTokens: fc.integer({ min: 1, max: 9999 }),
  isStream: fc.boolean(),
});

/** The conversation without pictures by address, which Converse lacks. */
export function withInlinePictures(talk: Conversation): Conversation {
  const inline = (parts: readonly UserPart[]) =>
    parts.filter((part) => part.kind !== 'image' || part.url.startsWith('data:'));
  const turns = talk.turns.map((turn) => ({ ...turn, question: inline(turn.question) }));
  return { ...talk, turns, last: inline(talk.last) };
}

const schema = { type: 'object', properties: { city: { type: 'string' } } };
/** OpenAI and Anthropic accept closed objects alone. */
const answerSchema = { ...schema, additionalProperties: false };
const tools = ['weather', 'search'];

function chatPart(part: UserPart): Json {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'pdf': {
      const file_data = `data:application/pdf;base64,${part.base64}`;
      return { type: 'file', file: { filename: part.name, file_data } };
    }
  }
}

function chatContent(parts: readonly UserPart[]): unknown {
  const [first] = parts;
  return parts.length === 1 && first!.kind === 'text' ? first!.text : parts.map(chatPart);
}

function idOf(turn: number, at: number): string {
  return `call_${turn}_${at}`;
}

function chatTurn({ question: parts, answer, calls }: Turn, at: number): Json[] {
  const tool_calls = calls.map(({ name, args: given }, place) => ({
    id: idOf(at, place),
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));
  const results = calls.map(({ result }, place) => ({
    role: 'tool',
    tool_call_id: idOf(at, place),
    content: result,
  }));
  return [
    { role: 'user', content: chatContent(parts) },
    ...(calls.length === 0 ? [] : [{ role: 'assistant', content: null, tool_calls }, ...results]),
    { role: 'assistant', content: answer },
  ];
}

/** The conversation as the request of a chat. */
export function chatOf(talk: Conversation): Json {
  const { system, choice } = talk;
  const named = { type: 'function', function: { name: 'weather' } };
  return {
    model: 'm',
    messages: [
      ...(system === null ? [] : [{ role: 'system', content: system }]),
      ...talk.turns.flatMap(chatTurn),
      { role: 'user', content: chatContent(talk.last) },
    ],
    max_tokens: talk.maxTokens,
    stop: talk.stops,
    ...(talk.temperature === null ? {} : { temperature: talk.temperature }),
    tools: tools.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
    ...(choice === null ? {} : { tool_choice: choice === 'weather' ? named : choice }),
    ...(talk.isSequential && choice !== 'none' && choice !== null
      ? { parallel_tool_calls: false }
      : {}),
    ...(talk.hasSchema
      ? {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'answer', schema: answerSchema, strict: true },
          },
        }
      : {}),
    ...(talk.isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** The conversation as the input of a responses request. */
export function responsesOf(talk: Conversation): Json {
  const { system, choice } = talk;
  const inputParts = (list: readonly UserPart[]) =>
    list.map((part) => {
      if (part.kind === 'text') return { type: 'input_text', text: part.text };
      if (part.kind === 'image') return { type: 'input_image', image_url: part.url };
      const file_data = `data:application/pdf;base64,${part.base64}`;
      return { type: 'input_file', filename: part.name, file_data };
    });
  const turn = ({ question: parts, answer, calls }: Turn, at: number): Json[] => [
    { role: 'user', content: inputParts(parts) },
    ...calls.map(({ name, args: given }, place) => ({
      type: 'function_call',
      call_id: idOf(at, place),
      name,
      arguments: JSON.stringify(given),
    })),
    ...calls.map(({ result }, place) => ({
      type: 'function_call_output',
      call_id: idOf(at, place),
      output: result,
    })),
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: answer, annotations: [] }],
    },
  ];
  return {
    model: 'm',
    ...(system === null ? {} : { instructions: system }),
    input: [...talk.turns.flatMap(turn), { role: 'user', content: inputParts(talk.last) }],
    max_output_tokens: talk.maxTokens,
    ...(talk.temperature === null ? {} : { temperature: talk.temperature }),
    tools: tools.map((name) => ({ type: 'function', name, parameters: schema })),
    ...(choice === null
      ? {}
      : { tool_choice: choice === 'weather' ? { type: 'function', name: 'weather' } : choice }),
    ...(talk.isSequential && choice !== 'none' && choice !== null
      ? { parallel_tool_calls: false }
      : {}),
    ...(talk.hasSchema
      ? {
          text: {
            format: { type: 'json_schema', name: 'answer', schema: answerSchema, strict: true },
          },
        }
      : {}),
    ...(talk.isStream ? { stream: true } : {}),
  };
}
