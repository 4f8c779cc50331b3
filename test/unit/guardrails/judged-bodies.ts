/** Contains one rich body for each format of requests, responses and streams that guardrails judge. */
import type { ResponseForm } from '../../../src/guardrails/texts/answer-passages.ts';
import type { TextsForm } from '../../../src/model/endpoints/endpoint.ts';

const schema = {
  type: 'object',
  description: 'a description',
  properties: { city: { type: 'string', enum: ['Rome'], default: { type: 'a default' } } },
  required: ['city'],
};
const functionTool = {
  type: 'function',
  function: { name: 'weather', description: 'a description', parameters: schema },
};
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Rome"}' },
};
const bytes = 'iVBORw0KGgo=';
const chatParts = [
  { type: 'text', text: 'a text' },
  { type: 'image_url', image_url: { url: 'https://a.example/x.png', detail: 'low' } },
  { type: 'input_audio', input_audio: { data: bytes, format: 'wav' } },
  { type: 'file', file: { file_id: 'file-1', filename: 'a.pdf', file_data: bytes } },
  { type: 'refusal', refusal: 'a refusal' },
];
const claudeBlocks = [
  { type: 'text', text: 'a text', cache_control: { type: 'ephemeral', ttl: '5m' } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bytes } },
  {
    type: 'document',
    title: 'a title',
    context: 'a context',
    source: { type: 'text', media_type: 'text/plain', data: 'a document' },
    citations: { enabled: true },
  },
  {
    type: 'document',
    source: { type: 'content', content: [{ type: 'text', text: 'a document in parts' }] },
  },
  {
    type: 'tool_use',
    id: 'toolu_1',
    name: 'weather',
    input: { id: 'Rome', list: [{ type: 'x' }] },
  },
  {
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    content: [{ type: 'text', text: 'an output' }],
  },
  { type: 'thinking', thinking: 'a thought', signature: bytes },
  {
    type: 'search_result',
    title: 'a title',
    source: 'https://a.example',
    content: [{ type: 'text', text: 'a finding' }],
  },
];

const geminiParts = [
  { text: 'a thought', thought: true, thoughtSignature: bytes },
  { text: 'a text' },
  { functionCall: { id: 'c', name: 'weather', args: { city: 'Rome', list: [{ type: 'x' }] } } },
  { executableCode: { language: 'PYTHON', code: 'a code' } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: 'an output' } },
];

const converseBlocks = [
  { text: 'an answer' },
  { reasoningContent: { reasoningText: { text: 'a thought', signature: 'c2ln' } } },
  { reasoningContent: { redactedContent: 'c2ln' } },
  { toolUse: { toolUseId: 't1', name: 'f', input: { city: 'Bonn', type: 'x' } } },
];

export const requestBodies: Readonly<Record<TextsForm, Readonly<Record<string, unknown>>>> = {
  chat_completions: {
    model: 'm',
    messages: [
      { role: 'assistant', content: 'earlier', tool_calls: [call] },
      { role: 'user', name: 'alice', content: chatParts },
    ],
    prompt: 'a prompt',
    inputs: [{ role: 'user', content: 'an input' }],
    suffix: 'a suffix',
    stop: ['an end'],
    user: 'user-1',
    metadata: { id: 'a value' },
    tools: [functionTool],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'weather', description: 'a description', schema },
    },
    prediction: { type: 'content', content: 'a prediction' },
  },
  completions: { model: 'm', prompt: ['one', 'two'], suffix: 'a suffix', stop: 'an end' },
  embeddings: { model: 'm', input: ['one', 'two'], encoding_format: 'float', user: 'user-1' },
  converse: {
    model: 'amazon.nova-pro-v1:0',
    system: [{ text: 'be brief' }, { cachePoint: { type: 'default' } }],
    messages: [
      { role: 'user', content: [{ text: 'a question' }] },
      {
        role: 'assistant',
        content: [
          ...converseBlocks,
          { toolResult: { toolUseId: 't1', content: [{ json: { a: 'b' } }], status: 'success' } },
          { image: { format: 'png', source: { bytes: 'aGk=' } } },
          { document: { format: 'pdf', name: 'a report', source: { bytes: 'aGk=' } } },
          { guardContent: { text: { text: 'judge this' } } },
        ],
      },
    ],
    inferenceConfig: { maxTokens: 5, stopSequences: ['END'] },
    toolConfig: {
      tools: [
        {
          toolSpec: {
            name: 'f',
            description: 'a tool',
            inputSchema: { json: { type: 'object', properties: { type: { description: 'd' } } } },
          },
        },
      ],
      toolChoice: { tool: { name: 'f' } },
    },
    additionalModelRequestFields: { id: 'free' },
  },
  gemini: {
    model: 'm',
    systemInstruction: { parts: [{ text: 'a rule' }] },
    contents: [
      { role: 'user', parts: [{ text: 'earlier' }] },
      { role: 'model', parts: geminiParts },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c', name: 'weather', response: { output: 'an output' } } },
          { text: 'a text' },
          { inlineData: { mimeType: 'image/png', data: bytes } },
          { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/x.png' } },
        ],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'weather', description: 'a description', parametersJsonSchema: schema },
        ],
      },
    ],
    generationConfig: {
      stopSequences: ['an end'],
      responseMimeType: 'application/json',
      responseSchema: schema,
    },
    labels: { id: 'a value' },
  },
  messages: {
    model: 'm',
    system: [{ type: 'text', text: 'a rule' }],
    messages: [
      { role: 'user', content: 'earlier' },
      { role: 'user', content: claudeBlocks },
    ],
    stop_sequences: ['an end'],
    tools: [{ name: 'weather', description: 'a description', input_schema: schema }],
    metadata: { user_id: 'user-1' },
  },
  responses: {
    model: 'm',
    instructions: 'a rule',
    previous_response_id: 'resp_1',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'earlier' }] },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a thought' }] },
      { type: 'function_call_output', call_id: 'c', output: 'an output' },
    ],
    prompt: { id: 'pmpt_1', version: '2', variables: { city: 'Rome' } },
    text: { format: { type: 'json_schema', name: 'weather', schema }, verbosity: 'low' },
    tools: [
      { type: 'function', name: 'weather', description: 'a description', parameters: schema },
      {
        type: 'mcp',
        server_label: 'a label',
        server_url: 'https://a.example',
        headers: { a: 'b' },
      },
    ],
    include: ['file_search_call.results'],
  },
  stored: {
    assistant_id: 'asst_1',
    instructions: 'a rule',
    additional_instructions: 'a rule',
    thread: { messages: [{ role: 'user', content: [{ type: 'text', text: 'a text' }] }] },
    additional_messages: [{ role: 'user', content: 'a text' }],
    content: 'a text',
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a text' }] }],
    query: ['a query'],
    tool_outputs: [{ tool_call_id: 'c', output: 'an output' }],
    requests: [
      { custom_id: 'r', params: { model: 'm', messages: [{ role: 'user', content: 'a text' }] } },
    ],
  },
  unknown: {
    model: 'm',
    inputs: [{ type: 'message.input', role: 'user', content: 'an input' }],
    prompt: 'a prompt',
    documents: [{ text: 'a document' }, 'a document'],
    voice: 'alloy',
  },
};

const message = {
  role: 'assistant',
  content: 'a text',
  refusal: 'a refusal',
  reasoning_content: 'a thought',
  audio: { id: 'audio_1', data: bytes, transcript: 'a transcript' },
  tool_calls: [call],
  annotations: [{ type: 'url_citation', url_citation: { title: 'a title' } }],
};
const output = [
  { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'a thought' }] },
  { id: 'fc_1', type: 'function_call', name: 'weather', arguments: '{"city":"Rome"}' },
  { id: 'ci_1', type: 'code_interpreter_call', code: 'a code', outputs: [{ logs: 'a log' }] },
  { id: 'mcp_1', type: 'mcp_call', output: 'an output', error: 'an error' },
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'output_text', text: 'a text' },
      { type: 'refusal', refusal: 'a refusal' },
    ],
  },
];

export const responseBodies: Readonly<Record<ResponseForm, Readonly<Record<string, unknown>>>> = {
  chat_completions: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  },
  completions: { id: 'cmpl-1', model: 'm', choices: [{ index: 0, text: 'a text' }] },
  converse: {
    output: { message: { role: 'assistant', content: converseBlocks } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1 },
    additionalModelResponseFields: { id: 'free' },
  },
  gemini: {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: geminiParts },
        finishReason: 'STOP',
        safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
        groundingMetadata: { webSearchQueries: ['a query'] },
      },
    ],
    modelVersion: 'm',
    responseId: 'r',
    usageMetadata: { promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1 }] },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [...claudeBlocks, { type: 'server_tool_use', input: { query: 'a query' } }],
    stop_reason: 'end_turn',
  },
  responses: { id: 'resp_1', object: 'response', status: 'completed', output },
  stored: {
    data: [
      { id: 'msg_1', role: 'assistant', content: [{ type: 'text', text: { value: 'a text' } }] },
    ],
  },
  unknown: { text: 'a transcript', segments: [{ id: 0, text: 'a segment' }] },
};

const chunk = (delta: object) => ({ id: 'c', choices: [{ index: 0, delta }] });

/** Events whose texts are pieces: the canary is split between two copies of each. */
export const pieceEvents: Readonly<Record<ResponseForm, readonly object[]>> = {
  chat_completions: [
    chunk({ role: 'assistant', content: 'a' }),
    chunk({ refusal: 'a' }),
    chunk({ reasoning_content: 'a' }),
    chunk({ audio: { id: 'audio_1', data: bytes, transcript: 'a' } }),
    chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'w', arguments: 'a' } }] }),
    chunk({ invented: [{ index: 2, deep: { id: 'a' } }] }),
  ],
  completions: [{ id: 'c', choices: [{ index: 0, text: 'a' }] }],
  converse: [
    { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'a' } } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: 'a' } } } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: 'a' } } } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { invented: { deep: 'a' } } } },
  ],
  gemini: [
    { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'a' }] } }] },
    { candidates: [{ index: 0, content: { parts: [{ text: 'a', thought: true }] } }] },
  ],
  messages: ['text', 'thinking', 'partial_json', 'invented'].map((name) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'any_delta', [name]: 'a' },
  })),
  responses: [
    'response.output_text.delta',
    'response.refusal.delta',
    'response.reasoning_text.delta',
    'response.function_call_arguments.delta',
    'response.mcp_call_arguments.delta',
    'response.output_audio_transcript.delta',
    'response.invented.delta',
  ].map((type) => ({ type, item_id: 'i', output_index: 0, content_index: 0, delta: 'a' })),
  stored: [
    {
      id: 'msg_1',
      object: 'thread.message.delta',
      delta: { content: [{ index: 0, type: 'text', text: { value: 'a' } }] },
    },
    {
      id: 'step_1',
      object: 'thread.run.step.delta',
      delta: { step_details: { tool_calls: [{ index: 0, function: { arguments: 'a' } }] } },
    },
  ],
  unknown: [{ type: 'message.output.delta', id: 'm', content: 'a' }],
};

/** Events that contain whole texts. */
export const wholeEvents: Readonly<Record<ResponseForm, readonly object[]>> = {
  chat_completions: [{ id: 'c', choices: [{ index: 0, message }] }],
  completions: [],
  converse: [
    { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: converseBlocks[3]!.toolUse } } },
    { type: 'error', error: { type: 'throttlingException', message: 'an error' } },
  ],
  gemini: geminiParts
    .slice(2)
    .map((part) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [part] } }] })),
  messages: [
    { type: 'message_start', message: responseBodies.messages },
    { type: 'content_block_start', index: 0, content_block: claudeBlocks[4] },
    { type: 'error', error: { type: 'overloaded_error', message: 'an error' } },
  ],
  responses: [
    ...output.map((item) => ({ type: 'response.output_item.done', output_index: 0, item })),
    { type: 'response.completed', response: responseBodies.responses },
    { type: 'response.content_part.done', part: { type: 'reasoning_text', text: 'a thought' } },
    { type: 'response.function_call_arguments.done', item_id: 'i', arguments: '{"city":"Rome"}' },
    { type: 'response.invented', foo: { bar: ['a text'] } },
  ],
  stored: [
    { id: 'msg_1', object: 'thread.message', ...(responseBodies.stored.data as [object])[0] },
  ],
  unknown: [{ type: 'conversation.response.done', outputs: [{ content: 'a text' }] }],
};
