/** Reads translated answers with the official SDKs, and writes the request that continues the conversation. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { Meaning, Source, Stop } from './answers.ts';

type Json = Readonly<Record<string, unknown>>;

/** An answer as an SDK hands it to its program. */
export interface ReadAnswer {
  readonly meaning: Meaning;
  /** The turn of the model that the program sends back. */
  readonly turn: unknown;
}

export interface CallerFormat {
  readonly path: string;
  /** Whether the caller can see citations. */
  readonly hasCitations: boolean;
  /** Whether a refusal is apart from the text. */
  readonly hasRefusals: boolean;
  request(isStream: boolean): Json;
  whole(body: Buffer): Promise<ReadAnswer>;
  stream(chunks: readonly Buffer[]): Promise<ReadAnswer>;
  /** The request after the turn of the model, with results of its calls. */
  next(answer: ReadAnswer): Json;
}

function responseOf(chunks: readonly Buffer[], type: string): Response {
  const list = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = list.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(new Uint8Array(next));
    },
  });
  return new Response(body, { headers: { 'content-type': type } });
}

const [json, events] = ['application/json', 'text/event-stream'];
const question = 'Hello';
const resultText = 'done';
const parameters = { type: 'object', properties: {} };
const toolNames = ['weather', 'read_file', 'search'];

function openAi(chunks: readonly Buffer[], type: string): OpenAI {
  const fetch = async () => responseOf(chunks, type);
  return new OpenAI({ apiKey: 'k', baseURL: 'http://gateway/v1', fetch, maxRetries: 0 });
}

interface Extensions {
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly Json[];
  readonly annotations?: readonly Annotation[];
}

interface Annotation {
  readonly url_citation: Source;
}

interface SentCall {
  readonly index?: number;
  readonly function: { readonly name: string; readonly arguments: string };
}

const stopsOfChat: Readonly<Record<string, Stop>> = {
  stop: 'end',
  tool_calls: 'calls',
  length: 'length',
  content_filter: 'filter',
};

function readChat({ choices, usage }: OpenAI.ChatCompletion, extended: Extensions): ReadAnswer {
  const { message, finish_reason: finish } = choices[0]!;
  const calls = (message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error('not a function');
    const { id, function: called } = call;
    return { id, name: called.name, args: JSON.parse(called.arguments) };
  });
  const counts = usage!;
  const meaning: Meaning = {
    thought: extended.reasoning_content ?? '',
    text: message.content ?? '',
    refusal: message.refusal ?? '',
    cited: (extended.annotations ?? []).map(({ url_citation: { url, title } }) => ({ url, title })),
    calls,
    stop: stopsOfChat[finish]!,
    usage: {
      input: counts.prompt_tokens,
      cached: counts.prompt_tokens_details?.cached_tokens ?? 0,
      output: counts.completion_tokens,
      ...(counts.completion_tokens_details === undefined
        ? {}
        : { reasoning: counts.completion_tokens_details.reasoning_tokens ?? 0 }),
    },
  };
  const { role, content, refusal, tool_calls } = message;
  const sentCalls = (tool_calls ?? []).map((call) => {
    // The accumulator of streams adds the parsed arguments.
    const { index: _index, function: called, ...more } = call as unknown as SentCall;
    return { ...more, function: { name: called.name, arguments: called.arguments } };
  });
  const sent = {
    role,
    content,
    refusal,
    ...(sentCalls.length === 0 ? {} : { tool_calls: sentCalls }),
    ...extended,
  };
  return { meaning, turn: sent };
}

export const chatCaller: CallerFormat = {
  path: '/chat/completions',
  hasCitations: true,
  hasRefusals: true,
  request: (isStream) => ({
    model: 'm',
    messages: [{ role: 'user', content: question }],
    tools: toolNames.map((name) => ({ type: 'function', function: { name, parameters } })),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  async whole(body) {
    const answer = await openAi([body], json).chat.completions.create({ model: 'm', messages: [] });
    const { reasoning_content, reasoning_details, annotations } = answer.choices[0]!
      .message as Extensions;
    const extended = JSON.parse(
      JSON.stringify({ reasoning_content, reasoning_details, annotations }),
    );
    return readChat(answer, extended);
  },
  async stream(chunks) {
    const stream = openAi(chunks, events).chat.completions.stream({ model: 'm', messages: [] });
    let text: string | undefined;
    const details: Record<string, unknown>[] = [];
    const annotations: Annotation[] = [];
    stream.on('chunk', ({ choices }) => {
      const delta = choices[0]?.delta as Extensions | undefined;
      const { reasoning_content: piece } = delta ?? {};
      if (piece !== undefined) text = (text ?? '') + piece;
      for (const one of delta?.reasoning_details ?? []) joinPiece(details, one);
      annotations.push(...(delta?.annotations ?? []));
    });
    const answer = await stream.finalChatCompletion();
    return readChat(answer, {
      ...(text === undefined ? {} : { reasoning_content: text }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(annotations.length === 0 ? {} : { annotations }),
    });
  },
  next: ({ meaning, turn }) => {
    const request = chatCaller.request(false);
    return {
      ...request,
      messages: [
        ...(request.messages as Json[]),
        turn,
        ...meaning.calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: resultText })),
        { role: 'user', content: question },
      ],
    };
  },
};

/** Joins pieces of reasoning details as OpenRouter's documentation asks of its clients. */
function joinPiece(details: Record<string, unknown>[], piece: Json): void {
  const last = details.at(-1);
  if (last === undefined || last.index !== piece.index || last.type !== piece.type) {
    details.push({ ...piece });
    return;
  }
  for (const [name, value] of Object.entries(piece)) {
    const isText = name === 'text' || name === 'summary' || name === 'data';
    last[name] = isText ? String(last[name] ?? '') + String(value) : value;
  }
}

function anthropic(chunks: readonly Buffer[], type: string): Anthropic {
  const fetch = async () => responseOf(chunks, type);
  return new Anthropic({ apiKey: 'k', baseURL: 'http://gateway', fetch, maxRetries: 0 });
}

const stopsOfMessages: Readonly<Record<string, Stop>> = {
  end_turn: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  refusal: 'filter',
};

function readMessage({ content, stop_reason: stop, usage }: Anthropic.Message): ReadAnswer {
  const cached = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  const details = usage.output_tokens_details;
  const meaning: Meaning = {
    thought: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    refusal: '',
    cited: [],
    calls: content.flatMap((block) => {
      if (block.type !== 'tool_use') return [];
      const { id, name, input } = block;
      return [{ id, name, args: input }];
    }),
    stop: stopsOfMessages[stop!]!,
    usage: {
      input: usage.input_tokens + cached + written,
      cached,
      written,
      output: usage.output_tokens,
      ...(details ? { reasoning: details.thinking_tokens } : {}),
    },
  };
  return { meaning, turn: { role: 'assistant', content } };
}

export const messagesCaller: CallerFormat = {
  path: '/messages',
  hasCitations: false,
  hasRefusals: false,
  request: (isStream) => ({
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: question }],
    tools: toolNames.map((name) => ({ name, input_schema: parameters })),
    ...(isStream ? { stream: true } : {}),
  }),
  async whole(body) {
    const request = { model: 'm', max_tokens: 1, messages: [] };
    return readMessage(await anthropic([body], json).messages.create(request));
  },
  async stream(chunks) {
    const request = { model: 'm', max_tokens: 1, messages: [] };
    return readMessage(await anthropic(chunks, events).messages.stream(request).finalMessage());
  },
  next: ({ meaning, turn }) => {
    const request = messagesCaller.request(false);
    const results = meaning.calls.map(({ id }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: resultText,
    }));
    const content = [...results, { type: 'text', text: question }];
    return {
      ...request,
      messages: [...(request.messages as Json[]), turn, { role: 'user', content }],
    };
  },
};

function readResponse(response: OpenAI.Responses.Response): ReadAnswer {
  const { output, incomplete_details: cut, usage } = response;
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const calls = output.flatMap((item) => {
    if (item.type !== 'function_call') return [];
    return [{ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) }];
  });
  const uncut: Stop = calls.length > 0 ? 'calls' : 'end';
  const stop: Stop = cut?.reason === 'max_output_tokens' ? 'length' : cut ? 'filter' : uncut;
  const meaning: Meaning = {
    thought: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
      .map(({ text }) => text)
      .join(''),
    text: parts.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
    refusal: parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join(''),
    cited: parts
      .flatMap((part) => (part.type === 'output_text' ? part.annotations : []))
      .flatMap((one) => (one.type === 'url_citation' ? [{ url: one.url, title: one.title }] : [])),
    calls,
    stop,
    usage: {
      input: usage!.input_tokens,
      cached: usage!.input_tokens_details.cached_tokens,
      output: usage!.output_tokens,
      reasoning: usage!.output_tokens_details.reasoning_tokens,
    },
  };
  return { meaning, turn: output };
}

export const responsesCaller: CallerFormat = {
  path: '/responses',
  hasCitations: true,
  hasRefusals: true,
  request: (isStream) => ({
    model: 'm',
    input: [{ role: 'user', content: question }],
    tools: toolNames.map((name) => ({ type: 'function', name, parameters })),
    ...(isStream ? { stream: true } : {}),
  }),
  async whole(body) {
    return readResponse(await openAi([body], json).responses.create({ model: 'm', input: '' }));
  },
  async stream(chunks) {
    const stream = openAi(chunks, events).responses.stream({ model: 'm', input: '' });
    return readResponse(await stream.finalResponse());
  },
  next: ({ meaning, turn }) => {
    const request = responsesCaller.request(false);
    return {
      ...request,
      input: [
        ...(request.input as Json[]),
        ...(turn as Json[]),
        ...meaning.calls.map(({ id }) => ({
          type: 'function_call_output',
          call_id: id,
          output: resultText,
        })),
        { role: 'user', content: question },
      ],
    };
  },
};

interface GeminiPart {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: unknown };
}

interface GeminiAnswer {
  readonly parts: readonly GeminiPart[];
  readonly finish: string;
  readonly usage: Readonly<Record<string, number>>;
}

function readGemini({ parts, finish, usage }: GeminiAnswer): ReadAnswer {
  const calls = parts.flatMap(({ functionCall: call }) =>
    call === undefined ? [] : [{ id: call.id, name: call.name, args: call.args ?? {} }],
  );
  const spoken = (isThought: boolean): string =>
    parts.map(({ thought = false, text = '' }) => (thought === isThought ? text : '')).join('');
  const stops: Readonly<Record<string, Stop>> = { MAX_TOKENS: 'length', SAFETY: 'filter' };
  const reasoning = usage.thoughtsTokenCount ?? 0;
  const meaning: Meaning = {
    thought: spoken(true),
    text: spoken(false),
    refusal: '',
    cited: [],
    calls,
    stop: stops[finish] ?? (calls.length > 0 ? 'calls' : 'end'),
    usage: {
      input: usage.promptTokenCount!,
      cached: usage.cachedContentTokenCount ?? 0,
      output: (usage.candidatesTokenCount ?? 0) + reasoning,
      reasoning,
    },
  };
  return { meaning, turn: { role: 'model', parts } };
}

/** Google's SDK takes no function that fetches. */
async function withFetch<T>(response: Response, run: (client: GoogleGenAI) => Promise<T>) {
  const { fetch } = globalThis;
  globalThis.fetch = async () => response;
  try {
    return await run(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://gateway' } }));
  } finally {
    globalThis.fetch = fetch;
  }
}

const geminiQuestion = { model: 'm', contents: question };

export const geminiCaller: CallerFormat = {
  path: '/v1beta/models:generateContent',
  hasCitations: false,
  hasRefusals: false,
  request: (isStream) => ({
    model: 'm',
    contents: [{ role: 'user', parts: [{ text: question }] }],
    tools: [
      {
        functionDeclarations: toolNames.map((name) => ({ name, parametersJsonSchema: parameters })),
      },
    ],
    ...(isStream ? { stream: true } : {}),
  }),
  whole: (body) =>
    withFetch(responseOf([body], json), async ({ models }) => {
      const { candidates, usageMetadata } = await models.generateContent(geminiQuestion);
      const { content, finishReason } = candidates![0]!;
      const parts = content!.parts as GeminiPart[];
      const usage = usageMetadata as unknown as Readonly<Record<string, number>>;
      return readGemini({ parts, finish: String(finishReason), usage });
    }),
  stream: (chunks) =>
    withFetch(responseOf(chunks, events), async ({ models }) => {
      const parts: GeminiPart[] = [];
      let finish = '';
      let usage: Readonly<Record<string, number>> = {};
      for await (const event of await models.generateContentStream(geminiQuestion)) {
        const { content, finishReason } = event.candidates![0]!;
        parts.push(...((content?.parts ?? []) as GeminiPart[]));
        if (finishReason !== undefined) finish = finishReason;
        usage = (event.usageMetadata ?? usage) as unknown as typeof usage;
      }
      return readGemini({ parts, finish, usage });
    }),
  next: ({ meaning, turn }) => {
    const request = geminiCaller.request(false);
    const results = meaning.calls.map(({ id, name }) => ({
      functionResponse: { id, name, response: { output: resultText } },
    }));
    const parts = [...results, { text: question }];
    return {
      ...request,
      contents: [...(request.contents as Json[]), turn, { role: 'user', parts }],
    };
  },
};
