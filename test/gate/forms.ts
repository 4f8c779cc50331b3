/** Lists the forms of requests that the gate sends, with the responses of their providers. */
import { chunkFrame, eventFrame } from '../support/upstream/bedrock.ts';

/** Usage as the provider reports it. */
interface ReportedTokens {
  readonly input: number;
  readonly output: number;
}

/** A stream in two pieces; the second has the usage. */
interface StreamPieces {
  readonly contentType: string;
  readonly first: Buffer;
  readonly rest: Buffer;
}

interface RequestForm {
  /** Service of the integration with the model; null for the mock upstream. */
  readonly service: string | null;
  readonly model: string;
  /** Whether its config sends a second request to another target, each with its place in `user`. */
  readonly isHedged: boolean;
  /** Bytes that the gateway may add to the body, each of which may be one token. */
  readonly addedBytes: number;
  readonly path: (isStream: boolean) => string;
  /** `outputTokensMax` bounds the output. */
  readonly body: (text: string, outputTokensMax: number, isStream: boolean) => object;
  readonly answer: (tokens: ReportedTokens | null) => object;
  /** Null for forms without streams, which write no output tokens. */
  readonly stream: ((tokens: ReportedTokens) => StreamPieces) | null;
}

const nova = 'amazon.nova-pro-v1:0';
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const gemini = 'gemini-2.5-flash';
const titan = 'amazon.titan-embed-text-v2:0';

function events(list: readonly object[]): Buffer {
  return Buffer.from(list.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''));
}

const chatUsage = ({ input, output }: ReportedTokens) => ({
  prompt_tokens: input,
  completion_tokens: output,
});

const chat: RequestForm = {
  service: null,
  model: 'm',
  isHedged: false,
  addedBytes: 0,
  path: () => '/v1/chat/completions',
  body: (content, max_tokens, stream) => {
    return { model: 'm', max_tokens, messages: [{ role: 'user', content }], stream };
  },
  answer: (tokens) => ({
    choices: [{ message: { role: 'assistant', content: 'ab' } }],
    ...(tokens && { usage: chatUsage(tokens) }),
  }),
  stream: (tokens) => {
    const piece = (content: string) => ({ choices: [{ delta: { content } }] });
    const last = events([piece('b'), { choices: [], usage: chatUsage(tokens) }]);
    const rest = Buffer.concat([last, Buffer.from('data: [DONE]\n\n')]);
    return { contentType: 'text/event-stream', first: events([piece('a')]), rest };
  },
};

const frameType = 'application/vnd.amazon.eventstream';

const converseUsage = ({ input, output }: ReportedTokens) => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
});

const converse: RequestForm = {
  service: 'bedrock',
  model: nova,
  isHedged: false,
  addedBytes: 0,
  path: (isStream) => `/model/${encodeURIComponent(nova)}/converse${isStream ? '-stream' : ''}`,
  body: (text, maxTokens) => ({
    messages: [{ role: 'user', content: [{ text }] }],
    inferenceConfig: { maxTokens },
  }),
  answer: (tokens) => ({
    output: { message: { role: 'assistant', content: [{ text: 'ab' }] } },
    stopReason: 'end_turn',
    metrics: { latencyMs: 1 },
    ...(tokens && { usage: converseUsage(tokens) }),
  }),
  stream: (tokens) => {
    const delta = (text: string) =>
      eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text } });
    return {
      contentType: frameType,
      first: Buffer.concat([eventFrame('messageStart', { role: 'assistant' }), delta('a')]),
      rest: Buffer.concat([
        delta('b'),
        eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
        eventFrame('messageStop', { stopReason: 'end_turn' }),
        eventFrame('metadata', { usage: converseUsage(tokens), metrics: { latencyMs: 1 } }),
      ]),
    };
  },
};

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  stop_sequence: null,
};

const invoke: RequestForm = {
  service: 'bedrock',
  model: claude,
  isHedged: false,
  addedBytes: 0,
  path: (isStream) =>
    `/model/${encodeURIComponent(claude)}/invoke${isStream ? '-with-response-stream' : ''}`,
  body: (content, max_tokens) => ({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens,
    messages: [{ role: 'user', content }],
  }),
  answer: (tokens) => ({
    ...message,
    content: [{ type: 'text', text: 'ab' }],
    stop_reason: 'end_turn',
    ...(tokens && { usage: { input_tokens: tokens.input, output_tokens: tokens.output } }),
  }),
  stream: ({ input, output }) => {
    const delta = (text: string) =>
      chunkFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
    const usage = { input_tokens: input, output_tokens: 1 };
    const text = { type: 'text', text: '' };
    const end = { stop_reason: 'end_turn' };
    return {
      contentType: frameType,
      first: Buffer.concat([
        chunkFrame({ type: 'message_start', message: { ...message, content: [], usage } }),
        chunkFrame({ type: 'content_block_start', index: 0, content_block: text }),
        delta('a'),
      ]),
      rest: Buffer.concat([
        delta('b'),
        chunkFrame({ type: 'content_block_stop', index: 0 }),
        chunkFrame({ type: 'message_delta', delta: end, usage: { output_tokens: output } }),
        chunkFrame({ type: 'message_stop' }),
      ]),
    };
  },
};

/** Gemini's own form, below the address of a service. */
function geminiAt(service: string, place: string): RequestForm {
  const candidate = (text: string, more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
  });
  const usage = ({ input, output }: ReportedTokens) => ({
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  });
  return {
    service,
    model: gemini,
    isHedged: false,
    addedBytes: 0,
    path: (isStream) =>
      `${place}/models/${gemini}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (text, maxOutputTokens) => ({
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { maxOutputTokens },
    }),
    answer: (tokens) => ({
      ...candidate('ab', { finishReason: 'STOP' }),
      ...(tokens && { usageMetadata: usage(tokens) }),
    }),
    stream: (tokens) => {
      const last = { ...candidate('b', { finishReason: 'STOP' }), usageMetadata: usage(tokens) };
      return {
        contentType: 'text/event-stream',
        first: events([candidate('a')]),
        rest: events([last]),
      };
    },
  };
}

const embeddings: RequestForm = {
  service: null,
  model: 'm',
  isHedged: false,
  addedBytes: 0,
  path: () => '/v1/embeddings',
  body: (input) => ({ model: 'm', input }),
  answer: (tokens) => ({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
    ...(tokens && { usage: { prompt_tokens: tokens.input, total_tokens: tokens.input } }),
  }),
  stream: null,
};

const titanEmbeddings: RequestForm = {
  ...embeddings,
  service: 'bedrock',
  model: titan,
  body: (input) => ({ model: titan, input }),
  answer: (tokens) => ({
    embedding: [1, 0],
    ...(tokens && { inputTextTokenCount: tokens.input }),
  }),
};

/** InvokeModel of Titan at Bedrock, which receives it as it is. */
const invokedTitan: RequestForm = {
  ...titanEmbeddings,
  path: () => `/model/${encodeURIComponent(titan)}/invoke`,
  body: (inputText) => ({ inputText }),
};

/** InvokeModel of Titan at a provider of OpenAI's format. */
const invokedElsewhere: RequestForm = {
  ...embeddings,
  addedBytes: 32,
  path: () => '/model/m/invoke',
  body: (inputText) => ({ inputText }),
};

const cohereEmbed: RequestForm = {
  ...embeddings,
  service: 'cohere',
  model: 'embed-v4.0',
  path: () => '/v2/embed',
  body: (text) => ({ model: 'embed-v4.0', texts: [text], embedding_types: ['float'] }),
  answer: (tokens) => ({
    embeddings: { float: [[1, 0]] },
    ...(tokens && { meta: { billed_units: { input_tokens: tokens.input } } }),
  }),
};

const predict: RequestForm = {
  ...embeddings,
  service: 'vertex-ai',
  model: 'text-embedding-005',
  path: () =>
    '/v1/projects/p/locations/us-east5/publishers/google/models/text-embedding-005:predict',
  body: (content) => ({ instances: [{ content }] }),
  answer: (tokens) => ({
    predictions: [
      {
        embeddings: {
          values: [1, 0],
          ...(tokens && { statistics: { truncated: false, token_count: tokens.input } }),
        },
      },
    ],
  }),
};

const rerank: RequestForm = {
  ...embeddings,
  path: () => '/v1/rerank',
  body: (query) => ({ model: 'm', query, documents: ['a', 'b'] }),
  answer: (tokens) => ({
    results: [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ],
    ...(tokens && { usage: { prompt_tokens: tokens.input, total_tokens: tokens.input } }),
  }),
};

const forms = {
  chat,
  hedged: { ...chat, isHedged: true, addedBytes: 64 },
  converse,
  invoke,
  gemini: geminiAt('google', '/v1beta'),
  vertex: geminiAt('vertex-ai', '/v1/projects/p/locations/us-east5/publishers/google'),
  embeddings,
  titanEmbeddings,
  invokedTitan,
  invokedElsewhere,
  cohereEmbed,
  predict,
  rerank,
} as const satisfies Readonly<Record<string, RequestForm>>;

export type FormName = keyof typeof forms;

export const requestForms: Readonly<Record<FormName, RequestForm>> = forms;

/** Finds the text of the request in a body of any form. */
export function textIn(value: unknown): string | null {
  if (typeof value === 'string') return value.startsWith('{"id"') ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const inner of Object.values(value)) {
    const text = textIn(inner);
    if (text !== null) return text;
  }
  return null;
}

/** Maximum output in a body of any form; 0 for forms without output. */
export function outputTokensMaxIn(body: ReturnType<typeof JSON.parse>): number {
  const { max_tokens, inferenceConfig, generationConfig } = body;
  return max_tokens ?? inferenceConfig?.maxTokens ?? generationConfig?.maxOutputTokens ?? 0;
}
