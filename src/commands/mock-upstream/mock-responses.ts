/** Builds the responses of the mock upstream: an echo in OpenAI or Anthropic format with token counts. */

export type MockRequestBody = Readonly<Record<string, unknown>>;

/** A complete response, or the events of a stream. */
export type MockResponse =
  | { readonly kind: 'json'; readonly status: number; readonly body: MockRequestBody }
  | { readonly kind: 'events'; readonly events: readonly string[] };

const modelName = 'mock-echo';
const embeddingSize = 8;
/** Characters counted as one token: a fixed number instead of a tokenizer, for stable counts. */
const tokenChars = 4;

/** The response to a request; `path` is relative to `/v1`. */
export function mockResponse(method: string, path: string, body: MockRequestBody): MockResponse {
  if (method === 'GET' && path === '/models') return json({ object: 'list', data: [model()] });
  if (method !== 'POST') return notFound(method, path);
  switch (path) {
    case '/chat/completions':
      return body.stream === true ? chatEvents(body) : json(chatCompletion(body));
    case '/completions':
      return json(completion(body));
    case '/embeddings':
      return json(embeddings(body));
    case '/messages':
      return body.stream === true ? messageEvents(body) : json(message(body));
    case '/responses':
      return json(response(body));
    default:
      return notFound(method, path);
  }
}

function json(body: MockRequestBody): MockResponse {
  return { kind: 'json', status: 200, body };
}

function notFound(method: string, path: string): MockResponse {
  const message = `The mock upstream does not know ${method} ${path}`;
  const error = { message, type: 'invalid_request_error', param: null, code: 'not_found' };
  return { kind: 'json', status: 404, body: { error } };
}

function model(): MockRequestBody {
  return { id: modelName, object: 'model', created: 0, owned_by: 'gatewright' };
}

/** Text of a message, given as a string or in parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: MockRequestBody) => (typeof part.text === 'string' ? part.text : ''))
    .join('');
}

interface Echo {
  readonly model: string;
  readonly text: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly isCut: boolean;
}

/** Echoes the last message, cut to the token limit of the request. */
function echoOf(body: MockRequestBody, texts: readonly string[]): Echo {
  const full = `echo: ${texts.at(-1) ?? ''}`;
  const given = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  const tokensMax = typeof given === 'number' ? given : Number.POSITIVE_INFINITY;
  const text = full.slice(0, tokensMax * tokenChars);
  return {
    model: typeof body.model === 'string' ? body.model : modelName,
    text,
    inputTokens: texts.reduce((sum, part) => sum + tokensOf(part), 0),
    outputTokens: tokensOf(text),
    isCut: text.length < full.length,
  };
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / tokenChars);
}

function messagesOf(body: MockRequestBody): string[] {
  const messages = Array.isArray(body.messages) ? (body.messages as MockRequestBody[]) : [];
  return messages.map(({ content }) => textOf(content));
}

function openAiUsage({ inputTokens, outputTokens }: Echo): MockRequestBody {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

function chatCompletion(body: MockRequestBody): MockRequestBody {
  const echo = echoOf(body, messagesOf(body));
  return {
    id: 'chatcmpl-mock',
    object: 'chat.completion',
    created: 0,
    model: echo.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: echo.text },
        logprobs: null,
        finish_reason: echo.isCut ? 'length' : 'stop',
      },
    ],
    usage: openAiUsage(echo),
  };
}

/** Splits a text into pieces of one token, as a model streams it. */
function piecesOf(text: string): string[] {
  return text.match(/[\s\S]{1,4}/g) ?? [];
}

function chatEvents(body: MockRequestBody): MockResponse {
  const echo = echoOf(body, messagesOf(body));
  const wantsUsage = (body.stream_options as MockRequestBody | undefined)?.include_usage === true;
  const event = (choices: readonly MockRequestBody[], more: MockRequestBody = {}): string =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-mock',
      object: 'chat.completion.chunk',
      created: 0,
      model: echo.model,
      choices,
      ...(wantsUsage ? { usage: null } : {}),
      ...more,
    })}\n\n`;
  const choice = (delta: MockRequestBody, finish: string | null = null): MockRequestBody => ({
    index: 0,
    delta,
    finish_reason: finish,
  });
  return {
    kind: 'events',
    events: [
      event([choice({ role: 'assistant', content: '' })]),
      ...piecesOf(echo.text).map((content) => event([choice({ content })])),
      event([choice({}, echo.isCut ? 'length' : 'stop')]),
      ...(wantsUsage ? [event([], { usage: openAiUsage(echo) })] : []),
      'data: [DONE]\n\n',
    ],
  };
}

function completion(body: MockRequestBody): MockRequestBody {
  const echo = echoOf(body, [textOf(body.prompt)]);
  return {
    id: 'cmpl-mock',
    object: 'text_completion',
    created: 0,
    model: echo.model,
    choices: [
      { index: 0, text: echo.text, logprobs: null, finish_reason: echo.isCut ? 'length' : 'stop' },
    ],
    usage: openAiUsage(echo),
  };
}

function embeddings(body: MockRequestBody): MockRequestBody {
  const inputs = (Array.isArray(body.input) ? body.input : [body.input]).map(String);
  const tokens = inputs.reduce((sum, text) => sum + tokensOf(text), 0);
  return {
    object: 'list',
    model: typeof body.model === 'string' ? body.model : modelName,
    data: inputs.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: Array.from({ length: embeddingSize }, (_, at) => (text.charCodeAt(at) || 0) / 255),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function anthropicUsage({ inputTokens, outputTokens }: Echo): MockRequestBody {
  return { input_tokens: inputTokens, output_tokens: outputTokens };
}

function messageTexts(body: MockRequestBody): string[] {
  return [textOf(body.system), ...messagesOf(body)];
}

function message(body: MockRequestBody): MockRequestBody {
  const echo = echoOf(body, messageTexts(body));
  return {
    id: 'msg_mock',
    type: 'message',
    role: 'assistant',
    model: echo.model,
    content: [{ type: 'text', text: echo.text }],
    stop_reason: echo.isCut ? 'max_tokens' : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage(echo),
  };
}

function messageEvents(body: MockRequestBody): MockResponse {
  const echo = echoOf(body, messageTexts(body));
  const { content: _, stop_reason: reason, ...start } = message(body);
  const event = (data: MockRequestBody): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const usage = { input_tokens: echo.inputTokens, output_tokens: 0 };
  return {
    kind: 'events',
    events: [
      event({
        type: 'message_start',
        message: { ...start, content: [], stop_reason: null, usage },
      }),
      event({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }),
      ...piecesOf(echo.text).map((text) =>
        event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
      ),
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: echo.outputTokens },
      }),
      event({ type: 'message_stop' }),
    ],
  };
}

function response(body: MockRequestBody): MockRequestBody {
  const inputs = Array.isArray(body.input)
    ? (body.input as MockRequestBody[]).map(({ content }) => textOf(content))
    : [textOf(body.input)];
  const echo = echoOf(body, inputs);
  return {
    id: 'resp_mock',
    object: 'response',
    created_at: 0,
    model: echo.model,
    status: 'completed',
    output: [
      {
        id: 'msg_mock',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: echo.text, annotations: [] }],
      },
    ],
    usage: {
      ...anthropicUsage(echo),
      total_tokens: echo.inputTokens + echo.outputTokens,
    },
  };
}
