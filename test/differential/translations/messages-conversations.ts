/** Lists conversations in the form of Anthropic's messages. */
import claudeCode from '../../support/agents/claude-code.json' with { type: 'json' };
import opencode from '../../support/agents/opencode-messages.json' with { type: 'json' };
import {
  answerSchema,
  type Conversation,
  conversationsOf,
  type Json,
  mapped,
  pdf,
  png,
  prefixed,
  schemas,
} from './conversation.ts';

const user = (content: unknown): Json => ({ role: 'user', content });
const model = (content: unknown): Json => ({ role: 'assistant', content });
const hello = user('Hello');
const usual = { messages: [hello], max_tokens: 512 };
const text = (value: string, more: Json = {}): Json => ({ type: 'text', text: value, ...more });
const marked = { cache_control: { type: 'ephemeral' } };
const tool = (input_schema: unknown, more: Json = {}): Json => ({
  name: 'weather',
  description: 'Reads the weather',
  input_schema,
  ...more,
});
const plain = tool(schemas['one text']);
const search = { name: 'search', input_schema: schemas['one text'] };
const call = (id: string, input: Json, name = 'weather'): Json => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const result = (id: string, content: unknown, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
const source = (media_type: string, data: string): Json => ({ type: 'base64', media_type, data });
const bern = { city: 'Bern' };
const calls = [hello, model([call('call_1', bern)])];

const turns = {
  'a question': {},
  'a system prompt': { system: 'Be brief' },
  'a system prompt in parts': { system: [text('Be brief'), text('Be kind')] },
  'an earlier answer': { messages: [hello, model('Hi'), user('And?')] },
  'an answer in parts': { messages: [hello, model([text('A'), text('B')]), user('And?')] },
  'two questions in turn': { messages: [user('One'), user('Two')] },
  'a question in parts': { messages: [user([text('One'), text('Two')])] },
  'an answer that is begun': { messages: [hello, model('It is')] },
};

const media = {
  'a picture': {
    messages: [user([text('Look'), { type: 'image', source: source('image/png', png) }])],
  },
  'a picture by URL': {
    messages: [
      user([
        text('Look'),
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ]),
    ],
  },
  'a document': {
    messages: [
      user([
        text('Read'),
        { type: 'document', title: 'a.pdf', source: source('application/pdf', pdf) },
      ]),
    ],
  },
  'a document of text': {
    messages: [
      user([
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Facts' } },
        text('Read'),
      ]),
    ],
  },
};

const tools = {
  ...mapped(prefixed('a tool with ', schemas), (schema) => ({ tools: [tool(schema)] })),
  'a tool with its type': { tools: [tool(schemas['one text'], { type: 'custom' })] },
  'two tools': { tools: [plain, search] },
  'a choice by the model': { tools: [plain], tool_choice: { type: 'auto' } },
  'any tool to choose': { tools: [plain], tool_choice: { type: 'any' } },
  'no tool to choose': { tools: [plain], tool_choice: { type: 'none' } },
  'one tool to choose': { tools: [plain, search], tool_choice: { type: 'tool', name: 'search' } },
  'one call at a time': {
    tools: [plain],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  },
  'a call and its result': {
    tools: [plain],
    messages: [...calls, user([result('call_1', 'Sun')])],
  },
  'a call with a text': {
    tools: [plain],
    messages: [
      hello,
      model([text('I look'), call('call_1', bern)]),
      user([result('call_1', [text('Sun')])]),
    ],
  },
  'two calls at once': {
    tools: [plain, search],
    messages: [
      hello,
      model([call('call_1', bern), call('call_2', bern, 'search')]),
      user([result('call_1', 'Sun'), result('call_2', '{"found":[1,2]}')]),
    ],
  },
  'results and a question': {
    tools: [plain],
    messages: [...calls, user([result('call_1', 'Sun'), text('And?')])],
  },
  'a result that is an error': {
    tools: [plain],
    messages: [...calls, user([result('call_1', 'no such city', { is_error: true })])],
  },
  'a result without content': {
    tools: [plain],
    messages: [...calls, user([{ type: 'tool_result', tool_use_id: 'call_1' }])],
  },
  'a result in parts': {
    tools: [plain],
    messages: [...calls, user([result('call_1', [text('Sun'), text('Wind')])])],
  },
  'a result with a picture': {
    tools: [plain],
    messages: [
      ...calls,
      user([result('call_1', [text('Sun'), { type: 'image', source: source('image/png', png) }])]),
    ],
  },
};

const settings = {
  'a temperature': { temperature: 0.3 },
  'a nucleus': { top_p: 0.4 },
  'a number of candidates': { top_k: 5 },
  stops: { stop_sequences: ['END', 'STOP'] },
  'a user': { metadata: { user_id: 'u-1' } },
  'a schema of the answer': {
    output_config: { format: { type: 'json_schema', schema: answerSchema } },
  },
  'a mark of the cache at the system prompt': { system: [text('Be brief', marked)] },
  'a mark of the cache at a question': { messages: [user([text('Hello', marked)])] },
  'a mark of the cache at a tool': { tools: [{ ...plain, ...marked }] },
};

const reasoning = {
  'a budget for thinking': {
    max_tokens: 64_000,
    thinking: { type: 'enabled', budget_tokens: 10_000 },
  },
  'a small budget for thinking': {
    max_tokens: 64_000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  },
  'no thinking': { thinking: { type: 'disabled' } },
  'an effort': { max_tokens: 64_000, output_config: { effort: 'low' } },
  'adaptive thinking': { max_tokens: 64_000, thinking: { type: 'adaptive' } },
  'earlier thinking': {
    max_tokens: 64_000,
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    tools: [plain],
    messages: [
      hello,
      model([
        { type: 'thinking', thinking: 'Where?', signature: 'c2lnbmVk' },
        call('call_1', bern),
      ]),
      user([result('call_1', 'Sun')]),
    ],
  },
};

function recorded({ body }: { readonly body: Json }): Json {
  const { model: _model, stream: _stream, ...rest } = body;
  return rest;
}

export const messagesConversations: readonly Conversation[] = [
  ...conversationsOf('messages', usual, { ...turns, ...media, ...tools, ...settings }),
  ...conversationsOf('messages', usual, reasoning, true),
  ...conversationsOf(
    'messages',
    {},
    { 'recorded: Claude Code': recorded(claudeCode), 'recorded: opencode': recorded(opencode) },
    true,
  ),
];
