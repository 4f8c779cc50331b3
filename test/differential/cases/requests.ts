/** Cases about provider requests: endpoints, parameters, headers, and inherited target settings. */
import { at, type Case, chat, roomAddress, target } from '../case.ts';
import type { Answer } from '../scripted-upstream.ts';

const list: Answer = { body: { object: 'list', data: [] } };

const byPath: readonly {
  readonly name: string;
  readonly more: Partial<Case>;
  readonly answer: Answer;
}[] = [
  { name: 'chat completions', more: {}, answer: {} },
  {
    name: 'completions',
    more: { path: '/v1/completions', body: { model: 'm', prompt: 'hi' } },
    answer: {
      body: {
        id: 'c',
        object: 'text_completion',
        model: 'm',
        created: 1,
        choices: [{ text: 'x', index: 0, logprobs: null, finish_reason: 'stop' }],
      },
    },
  },
  {
    name: 'embeddings',
    more: { path: '/v1/embeddings', body: { model: 'm', input: ['a', 'b'] } },
    answer: list,
  },
  {
    name: 'responses',
    more: { path: '/v1/responses', body: { model: 'm', input: 'hi' } },
    answer: {},
  },
  { name: 'a response', more: { path: '/v1/responses/r1', method: 'GET' }, answer: {} },
  { name: 'models', more: { path: '/v1/models', method: 'GET' }, answer: list },
  { name: 'moderations', more: { path: '/v1/moderations', body: { input: 'x' } }, answer: list },
  { name: 'files', more: { path: '/v1/files', method: 'GET' }, answer: list },
  { name: 'a file to delete', more: { path: '/v1/files/f1', method: 'DELETE' }, answer: {} },
  {
    name: 'batches',
    more: {
      path: '/v1/batches',
      body: { input_file_id: 'f', endpoint: '/v1/embeddings', completion_window: '24h' },
    },
    answer: {},
  },
  {
    name: 'images',
    more: { path: '/v1/images/generations', body: { model: 'm', prompt: 'a cat' } },
    answer: {},
  },
  {
    name: 'speech',
    more: { path: '/v1/audio/speech', body: { model: 'm', input: 'hi', voice: 'alloy' } },
    answer: { headers: { 'content-type': 'audio/mpeg' }, body: 'sound' },
  },
  {
    name: 'a path that is only forwarded',
    more: { path: '/v1/moderations', body: { input: 'a' } },
    answer: {},
  },
  {
    name: 'a query',
    more: { path: '/v1/models?limit=2&after=a%20b', method: 'GET' },
    answer: list,
  },
];

const endpoints: Case[] = byPath.flatMap(({ name, more, answer }) => [
  { name: `endpoint: ${name}, by config`, config: target('a'), ...more, script: { a: [answer] } },
  {
    name: `endpoint: ${name}, by headers`,
    ...more,
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': at('a'),
      authorization: 'Bearer sk-caller',
    },
    script: { a: [answer] },
  },
  {
    name: `endpoint: ${name}, failing`,
    config: target('a'),
    ...more,
    script: { a: [{ status: 404, body: { error: { message: 'none', type: 't', code: 'c' } } }] },
  },
]);

const message = { model: 'claude', max_tokens: 9, messages: chat.messages };
const anthropic = (more: object = {}): object => target('a', { provider: 'anthropic', ...more });
const messageAnswer: Answer = {
  body: {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'hi' }],
    usage: { input_tokens: 3, output_tokens: 2 },
  },
};

const messages: Case[] = [
  { name: 'messages: as they are', config: anthropic(), body: message },
  {
    name: 'messages: with a version of the caller',
    config: anthropic(),
    body: message,
    headers: { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'x' },
  },
  {
    name: 'messages: counted',
    config: anthropic(),
    path: '/v1/messages/count_tokens',
    body: { model: 'claude', messages: chat.messages },
    script: { a: [{ body: { input_tokens: 3 } }] },
  },
  {
    name: 'messages: failing',
    config: anthropic(),
    body: message,
    script: {
      a: [
        { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'x' } } },
      ],
    },
  },
].map((one) => ({ path: '/v1/messages', script: { a: [messageAnswer] }, ...one }));

const override = (params: object): object => target('a', { override_params: params });
const sent = { ...chat, temperature: 0.5, metadata: { team: 'x', area: 'y' }, user: 'u' };

const params: Case[] = [
  ...[
    { temperature: 0.1 },
    { temperature: null },
    { max_tokens: 5 },
    { model: 'gpt-other' },
    { metadata: { team: 'z' } },
    { stop: ['a', 'b'] },
    { messages: [{ role: 'user', content: 'other' }] },
    { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
    { seed: 0, user: '', n: 2 },
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { a: 1 } } } },
    { stream: false },
    {},
  ].map((one) => ({
    name: `params: override ${JSON.stringify(one)}`,
    config: override(one),
    body: sent,
  })),
  {
    name: 'params: nothing of them is touched that nobody names',
    config: target('a'),
    body: { ...sent, top_logprobs: 0, logit_bias: { '50256': -100 }, stop: '\u2028"é' },
  },
  {
    name: 'params: one that the format does not know',
    config: target('a'),
    body: { ...sent, own_extension: { a: [1] } },
  },
  { name: 'params: one beyond its bounds', config: target('a'), body: { ...sent, temperature: 7 } },
  { name: 'params: no model', config: target('a'), body: { messages: chat.messages } },
  {
    name: 'params: a number that is not a double',
    config: target('a'),
    body: '{"model":"m","messages":[],"seed":9007199254740993}',
  },
  {
    name: 'params: override with what a provider does not know',
    config: override({ own_extension: 1 }),
    body: sent,
  },
  {
    name: 'params: override of another path',
    config: override({ model: 'other' }),
    path: '/v1/moderations',
    body: { a: 1 },
  },
  {
    name: 'params: override of embeddings',
    config: override({ model: 'other', dimensions: 3 }),
    path: '/v1/embeddings',
    body: { model: 'm', input: 'a' },
    script: { a: [list] },
  },
  {
    name: 'params: default of what is not sent',
    config: target('a', { default_params: { seed: 7 } }),
    body: sent,
  },
  {
    name: 'params: default of what is sent',
    config: target('a', { default_params: { temperature: 1 } }),
    body: sent,
  },
  { name: 'params: drop one', config: target('a', { drop_params: ['user'] }), body: sent },
  {
    name: 'params: drop one of an object',
    config: target('a', { drop_params: ['metadata.team', 'messages[*].name'] }),
    body: { ...sent, messages: [{ role: 'user', name: 'n', content: 'x' }] },
  },
  {
    name: 'params: drop what is not there',
    config: target('a', { drop_params: ['x.y', 'messages[9]'] }),
    body: sent,
  },
];

const above = (more: object, own: object = {}): object => ({
  strategy: { mode: 'fallback' },
  targets: [{ ...more, strategy: { mode: 'single' }, targets: [target('a', own)] }, target('b')],
});
const onTop = (more: object, own: object = {}): object => ({
  strategy: { mode: 'single' },
  targets: [target('a', own)],
  ...more,
});

const inherited: Case[] = [
  {
    name: 'inherited: override_params of the root',
    config: onTop({ override_params: { seed: 1 } }),
  },
  {
    name: 'inherited: override_params, merged name by name',
    config: onTop(
      { override_params: { seed: 1, user: 'root', metadata: { a: 'x' } } },
      { override_params: { user: 'leaf', metadata: { b: 'y' } } },
    ),
  },
  {
    name: 'inherited: override_params of a level between',
    config: above({ override_params: { seed: 1 } }),
  },
  {
    name: 'inherited: override_params not by the one beside',
    config: above({ override_params: { seed: 1 } }),
    script: { a: [{ status: 500, body: {} }] },
  },
  {
    name: 'inherited: custom_host',
    config: onTop({ custom_host: at('c') }, { custom_host: undefined }),
  },
  {
    name: 'inherited: custom_host, an own one counts before',
    config: onTop({ custom_host: at('c') }),
  },
  {
    name: 'inherited: custom_host over two levels',
    config: {
      strategy: { mode: 'single' },
      custom_host: at('c'),
      targets: [above({}, { custom_host: undefined })],
    },
  },
  {
    name: 'inherited: forward_headers',
    config: onTop({ forward_headers: ['x-one'] }),
    headers: { 'x-one': '1', 'x-two': '2' },
  },
  {
    name: 'inherited: forward_headers, own ones in their place',
    config: onTop({ forward_headers: ['x-one'] }, { forward_headers: ['x-two'] }),
    headers: { 'x-one': '1', 'x-two': '2' },
  },
  {
    name: 'inherited: provider and credential',
    config: onTop(
      { provider: 'openai', api_key: 'sk-root' },
      { provider: undefined, api_key: undefined },
    ),
  },
];

const forwarded = (names: readonly string[]): object => target('a', { forward_headers: names });
const headers: Case[] = [
  {
    name: 'headers: one forwarded',
    config: forwarded(['x-one']),
    headers: { 'x-one': '1', 'x-two': '2' },
  },
  { name: 'headers: in other letters', config: forwarded(['X-One']), headers: { 'x-oNE': '1' } },
  {
    name: 'headers: one that is not sent',
    config: forwarded(['x-three']),
    headers: { 'x-one': '1' },
  },
  {
    name: 'headers: named by the request',
    config: target('a'),
    headers: {
      'x-portkey-forward-headers': 'x-one, x-two',
      'x-one': '1',
      'x-two': '2',
      'x-three': '3',
    },
  },
  {
    name: 'headers: named by request and config',
    config: forwarded(['x-two']),
    headers: { 'x-portkey-forward-headers': 'x-one', 'x-one': '1', 'x-two': '2' },
  },
  {
    name: 'headers: what is not named stays behind',
    config: target('a'),
    headers: { cookie: 'a=b', 'x-forwarded-for': '10.0.0.1', referer: 'x', 'x-one': '1', via: 'p' },
  },
  {
    name: 'headers: what is not named stays behind, at a path that is only forwarded',
    config: target('a'),
    path: '/v1/moderations',
    headers: { cookie: 'a=b', 'x-forwarded-for': '10.0.0.1', referer: 'x', 'x-one': '1', via: 'p' },
  },
  {
    name: 'headers: a credential forwarded in place of that of the config',
    config: forwarded(['authorization']),
    headers: { authorization: 'Bearer sk-caller' },
  },
  {
    name: 'headers: organisation and project of the account',
    config: target('a', { openai_organization: 'org', openai_project: 'proj' }),
  },
  {
    name: 'headers: beta of the caller',
    config: target('a'),
    headers: { 'openai-beta': 'assistants=v2' },
  },
  {
    name: 'headers: custom host of config and request',
    config: target('a'),
    headers: { 'x-portkey-custom-host': at('b') },
  },
  {
    name: 'headers: custom host and credential of the request beside a config',
    config: { retry: { attempts: 1 } },
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': at('b'),
      authorization: 'Bearer sk-caller',
    },
  },
  {
    name: 'headers: provider of config and request',
    config: target('a'),
    headers: { 'x-portkey-provider': 'anthropic' },
  },
  {
    name: 'headers: custom host with a slash at its end',
    config: target('a', { custom_host: `${roomAddress}/a/v1/` }),
  },
  {
    name: 'headers: custom host without a path',
    config: target('a', { custom_host: `${roomAddress}/a` }),
  },
];

export const requestCases: readonly Case[] = [
  ...endpoints,
  ...messages,
  ...params,
  ...inherited,
  ...headers,
];
