/** Lists conversations in the form of OpenAI's chats. */
import fc from 'fast-check';
import { chatOf, conversations } from '../../support/round-trips/requests.ts';
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
const hello = user('Hello');
const usual = { messages: [hello], max_tokens: 512 };

const tool = (parameters: unknown, more: Json = {}): Json => ({
  type: 'function',
  function: { name: 'weather', description: 'Reads the weather', parameters, ...more },
});
const plain = tool(schemas['one text']);
const search = {
  type: 'function',
  function: { name: 'search', parameters: schemas['one text'] },
};
const call = (id: string, args: string, name = 'weather'): Json => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const calling = (calls: readonly Json[], content: string | null = null): Json => ({
  role: 'assistant',
  content,
  tool_calls: calls,
});
const result = (id: string, content: unknown): Json => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
const picture = (url: string, more: Json = {}): Json => ({
  type: 'image_url',
  image_url: { url, ...more },
});
const text = (value: string): Json => ({ type: 'text', text: value });
const bern = '{"city":"Bern"}';

const systems = {
  'a system prompt': { messages: [{ role: 'system', content: 'Be brief' }, hello] },
  'a developer prompt': { messages: [{ role: 'developer', content: 'Be brief' }, hello] },
  'a system prompt in parts': {
    messages: [{ role: 'system', content: [text('Be brief'), text('Be kind')] }, hello],
  },
  'two system prompts': {
    messages: [{ role: 'system', content: 'A' }, { role: 'system', content: 'B' }, hello],
  },
  'a system prompt in the middle': {
    messages: [
      hello,
      { role: 'assistant', content: 'Hi' },
      { role: 'system', content: 'B' },
      hello,
    ],
  },
};

const turns = {
  'a question': {},
  'an earlier answer': { messages: [hello, { role: 'assistant', content: 'Hi' }, user('And?')] },
  'two questions in turn': { messages: [user('One'), user('Two')] },
  'two answers in turn': {
    messages: [
      hello,
      { role: 'assistant', content: 'A' },
      { role: 'assistant', content: 'B' },
      user('And?'),
    ],
  },
  'a refusal of an earlier turn': {
    messages: [hello, { role: 'assistant', content: null, refusal: 'I cannot' }, user('And?')],
  },
  'an answer that is begun': { messages: [hello, { role: 'assistant', content: 'It is' }] },
  'names of participants': { messages: [{ ...hello, name: 'ann' }] },
};

const media = {
  'a picture': { messages: [user([text('Look'), picture(`data:image/png;base64,${png}`)])] },
  'a picture alone': { messages: [user([picture(`data:image/jpeg;base64,${png}`)])] },
  'a picture in detail': {
    messages: [user([text('Look'), picture(`data:image/webp;base64,${png}`, { detail: 'high' })])],
  },
  'a file': {
    messages: [
      user([
        text('Read'),
        {
          type: 'file',
          file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
        },
      ]),
    ],
  },
  'a sound': {
    messages: [
      user([text('Hear'), { type: 'input_audio', input_audio: { data: png, format: 'wav' } }]),
    ],
  },
};

const tools = {
  ...mapped(prefixed('a tool with ', schemas), (parameters) => ({ tools: [tool(parameters)] })),
  'a tool that is strict': { tools: [tool(answerSchema, { strict: true })] },
  'two tools': { tools: [plain, search] },
  'a choice by the model': { tools: [plain], tool_choice: 'auto' },
  'no tool to choose': { tools: [plain], tool_choice: 'none' },
  'any tool to choose': { tools: [plain], tool_choice: 'required' },
  'one tool to choose': {
    tools: [plain, search],
    tool_choice: { type: 'function', function: { name: 'search' } },
  },
  'one call at a time': { tools: [plain], parallel_tool_calls: false },
  'a call and its result': {
    tools: [plain],
    messages: [hello, calling([call('call_1', bern)]), result('call_1', 'Sun')],
  },
  'a call with a text': {
    tools: [plain],
    messages: [hello, calling([call('call_1', bern)], 'I look'), result('call_1', 'Sun')],
  },
  'two calls at once': {
    tools: [plain, search],
    messages: [
      hello,
      calling([call('call_1', bern), call('call_2', bern, 'search')]),
      result('call_1', 'Sun'),
      result('call_2', '{"found":[1,2]}'),
    ],
  },
  'results and a question': {
    tools: [plain],
    messages: [hello, calling([call('call_1', bern)]), result('call_1', 'Sun'), user('And?')],
  },
  'two calls in turn': {
    tools: [plain],
    messages: [
      hello,
      calling([call('call_1', bern)]),
      result('call_1', 'Sun'),
      calling([call('call_2', '{"city":"Basel"}')]),
      result('call_2', 'Rain'),
    ],
  },
  'a call without arguments': {
    tools: [plain],
    messages: [hello, calling([call('call_1', '{}')]), result('call_1', '')],
  },
  'a result in parts': {
    tools: [plain],
    messages: [
      hello,
      calling([call('call_1', bern)]),
      result('call_1', [text('Sun'), text('and wind')]),
    ],
  },
  'calls without tools': {
    messages: [hello, calling([call('call_1', bern)]), result('call_1', 'Sun')],
  },
};

const settings = {
  'a temperature': { temperature: 0.3 },
  'a temperature of OpenAI alone': { temperature: 1.7 },
  'a nucleus': { top_p: 0.4 },
  'one stop': { stop: 'END' },
  'two stops': { stop: ['END', 'STOP'] },
  'no limit of the output': { max_tokens: undefined },
  'the newer limit of the output': { max_tokens: undefined, max_completion_tokens: 99 },
  'a user': { user: 'u-1' },
  'a seed': { seed: 7 },
  penalties: { frequency_penalty: 0.5, presence_penalty: 0.5 },
  'a schema of the answer': {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: answerSchema, strict: true },
    },
  },
  'any JSON as answer': { response_format: { type: 'json_object' } },
};

const cached = {
  'a mark of the cache at the system prompt': {
    messages: [
      {
        role: 'system',
        content: [{ ...text('Be brief'), cache_control: { type: 'ephemeral' } }],
      },
      hello,
    ],
  },
  'a mark of the cache at a question': {
    messages: [user([{ ...text('Hello'), cache_control: { type: 'ephemeral' } }])],
  },
};

const reasoning = mapped(
  { low: 'low', medium: 'medium', high: 'high' },
  (reasoning_effort): Json => ({ max_tokens: 64_000, reasoning_effort }),
);

const generated: Readonly<Record<string, Json>> = Object.fromEntries(
  fc.sample(conversations, { seed: 27, numRuns: 40 }).map((talk, at) => {
    const { model: _model, stream: _stream, stream_options: _options, ...body } = chatOf(talk);
    return [`generated ${at}`, body];
  }),
);

export const chatConversations: readonly Conversation[] = [
  ...conversationsOf('chat', usual, { ...systems, ...turns, ...media, ...tools, ...settings }),
  ...conversationsOf('chat', usual, generated),
  ...conversationsOf('chat', usual, { ...prefixed('effort ', reasoning), ...cached }, true),
];
