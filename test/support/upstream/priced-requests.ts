/** Lists requests that a provider charges by more than plain tokens, with the cost in its journal. */

/** A request that a provider charges by more than plain tokens. */
interface PricedRequest {
  readonly provider: string;
  readonly path: string;
  readonly params: object;
  /** The response, and the micro-dollars that the provider writes into its journal for it. */
  readonly answer: object;
  readonly journal: number;
}

const chatAnswer = { choices: [{ message: { role: 'assistant', content: 'hi' } }] };
const chat = '/v1/chat/completions';
const responses = '/v1/responses';

/** Each kind once, named for the title of a test. */
export const pricedRequests: readonly (readonly [name: string, request: PricedRequest])[] = [
  [
    'pictures by quality and size',
    {
      provider: 'openai',
      path: '/v1/images/generations',
      params: { model: 'dall-e-3', prompt: 'a', quality: 'hd', size: '1024x1792', n: 2 },
      answer: { data: [{ url: 'u' }, { url: 'u' }] },
      journal: 2 * 120_000,
    },
  ],
  [
    'pictures by their tokens',
    {
      provider: 'openai',
      path: '/v1/images/generations',
      params: { model: 'gpt-image-1.5', prompt: 'a' },
      answer: {
        data: [{ b64_json: 'A' }],
        usage: {
          input_tokens: 50,
          output_tokens: 1_000,
          input_tokens_details: { text_tokens: 50, image_tokens: 0 },
          output_tokens_details: { text_tokens: 0, image_tokens: 1_000 },
        },
      },
      journal: 250 + 32_000,
    },
  ],
  [
    'audio in and out',
    {
      provider: 'openai',
      path: chat,
      params: { model: 'gpt-audio', max_tokens: 500 },
      answer: {
        ...chatAnswer,
        usage: {
          prompt_tokens: 30,
          completion_tokens: 200,
          prompt_tokens_details: { audio_tokens: 20, cached_tokens: 0 },
          completion_tokens_details: { audio_tokens: 150, reasoning_tokens: 0 },
        },
      },
      journal: 25 + 640 + 500 + 9_600,
    },
  ],
  [
    'speech by its characters',
    {
      provider: 'openai',
      path: '/v1/audio/speech',
      params: { model: 'tts-1-hd', input: 'é'.repeat(100), voice: 'alloy' },
      answer: {},
      journal: 3_000,
    },
  ],
  [
    'transcripts by their duration',
    {
      provider: 'openai',
      path: '/v1/audio/transcriptions',
      params: { model: 'whisper-1', file_id: undefined },
      answer: { text: 'a', usage: { type: 'duration', seconds: 9 } },
      journal: 900,
    },
  ],
  [
    'a priority response',
    {
      provider: 'openai',
      path: chat,
      params: { model: 'gpt-4o', max_tokens: 50, service_tier: 'priority' },
      answer: {
        ...chatAnswer,
        service_tier: 'priority',
        usage: { prompt_tokens: 100, completion_tokens: 20 },
      },
      journal: 425 + 340,
    },
  ],
  [
    'a response in another tier than requested',
    {
      provider: 'openai',
      path: chat,
      params: { model: 'gpt-4o', max_tokens: 50, service_tier: 'priority' },
      answer: {
        ...chatAnswer,
        service_tier: 'default',
        usage: { prompt_tokens: 100, completion_tokens: 20 },
      },
      journal: 250 + 200,
    },
  ],
  [
    'flexible processing',
    {
      provider: 'openai',
      path: responses,
      params: { model: 'gpt-4o', input: 'a', service_tier: 'flex', max_output_tokens: 50 },
      answer: {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        output: [],
        service_tier: 'flex',
        usage: { input_tokens: 100, output_tokens: 20 },
      },
      journal: 125 + 100,
    },
  ],
  [
    'tools that OpenAI runs',
    {
      provider: 'openai',
      path: responses,
      params: {
        model: 'gpt-4o',
        input: 'a',
        max_output_tokens: 50,
        tools: [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }],
      },
      answer: {
        id: 'resp_2',
        object: 'response',
        status: 'completed',
        output: [
          { type: 'web_search_call', action: { type: 'search' } },
          { type: 'web_search_call', action: { type: 'open_page' } },
          { type: 'web_search_call', action: { type: 'search' } },
          { type: 'code_interpreter_call' },
          { type: 'code_interpreter_call' },
        ],
        usage: { input_tokens: 100, output_tokens: 20 },
      },
      journal: 250 + 200 + 20_000 + 30_000,
    },
  ],
  [
    'searches of Anthropic, in its fast mode, with caches of both lifetimes',
    {
      provider: 'anthropic',
      path: '/v1/messages',
      params: {
        model: 'claude-opus-4-7',
        max_tokens: 50,
        speed: 'fast',
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      },
      answer: {
        type: 'message',
        content: [],
        usage: {
          input_tokens: 10,
          output_tokens: 20,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 100,
          cache_creation: { ephemeral_1h_input_tokens: 60, ephemeral_5m_input_tokens: 40 },
          server_tool_use: { web_search_requests: 3 },
          service_tier: 'standard',
          speed: 'fast',
        },
      },
      journal: 6 * (50 + 500 + 50 + 250 + 600) + 30_000,
    },
  ],
  [
    'a ranking by its search units',
    {
      provider: 'cohere',
      path: '/v1/rerank',
      // Rankings have no messages, which the tests send by default.
      params: { model: 'rerank-v3.5', query: 'a', documents: ['a', 'b'], messages: undefined },
      answer: {
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.1 },
        ],
        meta: { billed_units: { search_units: 1 } },
      },
      journal: 2_000,
    },
  ],
];
