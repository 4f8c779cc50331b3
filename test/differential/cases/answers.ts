/** Cases about responses: retries, waits, streams, invalid provider responses, and refusals of the gateways. */
import { at, type Case, chat, target } from '../case.ts';
import type { Answer } from '../scripted-upstream.ts';

const failing = (status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: { error: { message: `of ${status}` } },
});
const retry = (attempts: number, more: object = {}): object =>
  target('a', { retry: { attempts, ...more } });
const twice = (...answers: readonly Answer[]) => ({ a: answers });

const codes = [400, 401, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529];

const retries: Case[] = [
  ...codes.map((status) => ({
    name: `retry: once after ${status}, or not`,
    config: retry(1),
    script: twice(failing(status), {}),
  })),
  ...codes.map((status) => ({
    name: `retry: after listed codes only, ${status}`,
    config: retry(1, { on_status_codes: [404, 503] }),
    script: twice(failing(status), {}),
  })),
  { name: 'retry: no attempts', config: retry(0), script: twice(failing(503), {}) },
  {
    name: 'retry: no attempts, though a code is listed',
    config: retry(0, { on_status_codes: [503] }),
    script: twice(failing(503), {}),
  },
  { name: 'retry: not needed', config: retry(3) },
  { name: 'retry: all tries fail', config: retry(1), script: twice(failing(503)) },
  {
    name: 'retry: two tries fail',
    config: retry(2),
    script: twice(failing(503), failing(500), {}),
  },
  {
    name: 'retry: the second failure is no reason for a third try',
    config: retry(3),
    script: twice(failing(503), failing(400), {}),
  },
  { name: 'retry: a listed 200', config: retry(1, { on_status_codes: [200] }) },
  {
    name: 'retry: no codes',
    config: retry(1, { on_status_codes: [] }),
    script: twice(failing(503), {}),
  },
  { name: 'retry: too many', config: retry(6), script: twice(failing(503), {}) },
  { name: 'retry: fewer than none', config: retry(-1), script: twice(failing(503), {}) },
  {
    name: 'retry: before the next target',
    config: {
      strategy: { mode: 'fallback' },
      targets: [retry(1), target('b')],
    },
    script: { a: [failing(503)] },
  },
  {
    name: 'retry: of all targets by the root',
    config: {
      strategy: { mode: 'fallback' },
      retry: { attempts: 1 },
      targets: [target('a'), target('b')],
    },
    script: { a: [failing(503)], b: [failing(429)] },
  },
  {
    name: 'retry: of a target in place of that of the root',
    config: {
      strategy: { mode: 'fallback' },
      retry: { attempts: 1, on_status_codes: [503] },
      targets: [target('a', { retry: { attempts: 1, on_status_codes: [404] } }), target('b')],
    },
    script: { a: [failing(503)] },
  },
];

/** Shorter than the first wait, so that the response shows which one applied. */
const heeding = (attempts: number): object => retry(attempts, { use_retry_after_header: true });
const reported: readonly Record<string, string>[] = [
  { 'retry-after-ms': '20' },
  { 'x-ms-retry-after-ms': '20' },
  { 'retry-after': '1' },
  { 'retry-after-ms': '20', 'retry-after': '50' },
  { 'retry-after': 'soon' },
  { 'retry-after': '' },
  { 'retry-after-ms': '99999' },
  { 'retry-after': '3600' },
  { 'retry-after': '1000000000' },
];
const waits: Case[] = [
  ...reported.map((headers) => ({
    name: `wait: told as ${JSON.stringify(headers)}`,
    config: heeding(1),
    script: twice(failing(429, headers), {}),
  })),
  {
    name: 'wait: told, and not heeded',
    config: retry(1),
    script: twice(failing(429, { 'retry-after': '3600' }), {}),
  },
  {
    name: 'wait: told twice',
    config: heeding(2),
    script: twice(
      failing(429, { 'retry-after-ms': '20' }),
      failing(429, { 'retry-after-ms': '20' }),
      {},
    ),
  },
  {
    name: 'wait: told with 503',
    config: heeding(1),
    script: twice(failing(503, { 'retry-after': '3600' }), {}),
  },
];

const slow: Answer = { fault: 'silent' };
/** Longer than a busy machine needs to start the call that is never answered. */
const shortMs = 5_000;
const timed = (ms: number, more: object = {}): object =>
  target('a', { request_timeout: ms, ...more });
const times: Case[] = [
  { name: 'timeout: of the config', config: timed(shortMs), script: { a: [slow] } },
  { name: 'timeout: not reached', config: timed(3_600_000) },
  {
    name: 'timeout: of the request counts first',
    config: timed(3_600_000),
    headers: { 'x-portkey-request-timeout': String(shortMs) },
    script: { a: [slow] },
  },
  {
    name: 'timeout: of the root',
    config: { strategy: { mode: 'single' }, request_timeout: shortMs, targets: [target('a')] },
    script: { a: [slow] },
  },
  {
    name: 'timeout: of a target in place of that of the root',
    config: { strategy: { mode: 'single' }, request_timeout: 3_600_000, targets: [timed(shortMs)] },
    script: { a: [slow] },
  },
  {
    name: 'timeout: leads to the next target',
    config: { strategy: { mode: 'fallback' }, targets: [timed(shortMs), target('b')] },
    script: { a: [slow] },
  },
  {
    name: 'timeout: leads to the next target where 408 is listed',
    config: {
      strategy: { mode: 'fallback', on_status_codes: [408] },
      targets: [timed(shortMs), target('b')],
    },
    script: { a: [slow] },
  },
  {
    name: 'timeout: does not lead on where other codes are listed',
    config: {
      strategy: { mode: 'fallback', on_status_codes: [500] },
      targets: [timed(shortMs), target('b')],
    },
    script: { a: [slow] },
  },
  {
    name: 'timeout: is tried again where 408 is listed',
    config: timed(shortMs, { retry: { attempts: 1, on_status_codes: [408] } }),
    script: { a: [slow] },
  },
  {
    name: 'timeout: is not tried again where nothing is listed',
    config: timed(shortMs, { retry: { attempts: 1 } }),
    script: { a: [slow] },
  },
  {
    name: 'timeout: not reached by a stream',
    config: timed(3_600_000),
    body: { ...chat, stream: true },
    script: { a: [{ events: ['data: {"choices":[]}\n\n', 'data: [DONE]\n\n'] }] },
  },
];

const chunk = (text: string): string =>
  `data: ${JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
  })}\n\n`;
const usage = `data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n`;
const streamed = (name: string, events: readonly string[], more: Partial<Case> = {}): Case => ({
  name: `stream: ${name}`,
  config: target('a'),
  body: { ...chat, stream: true },
  script: { a: [{ events }] },
  ...more,
});

const streams: Case[] = [
  streamed('of two events', [chunk('a'), chunk('b'), 'data: [DONE]\n\n']),
  streamed('in one piece', [`${chunk('a')}${chunk('b')}data: [DONE]\n\n`]),
  streamed('in pieces of lines', [...`${chunk('a')}${chunk('é€𝄞')}data: [DONE]\n\n`]),
  streamed('with usage', [chunk('a'), usage, 'data: [DONE]\n\n'], {
    body: { ...chat, stream: true, stream_options: { include_usage: true } },
  }),
  streamed('without an end', [chunk('a')]),
  streamed('of lines that end as on Windows', [
    chunk('a').replaceAll('\n', '\r\n'),
    'data: [DONE]\r\n\r\n',
  ]),
  streamed('with comments', [': ping\n\n', chunk('a'), ': ping\n\n', 'data: [DONE]\n\n']),
  streamed('with names of events', [
    'event: x\nid: 1\nretry: 5\ndata: {"a":1}\n\n',
    'data: [DONE]\n\n',
  ]),
  streamed('of a long event', [chunk('x'.repeat(200_000)), 'data: [DONE]\n\n']),
  streamed('of nothing', []),
  streamed('of more line feeds than needed', [`${chunk('a')}\n\n`, 'data: [DONE]\n\n']),
  streamed('asked for by the config', [chunk('a'), 'data: [DONE]\n\n'], {
    config: target('a', { override_params: { stream: true } }),
    body: chat,
  }),
  streamed('that is refused', [], { script: { a: [failing(429)] } }),
  streamed('after the refusal of another target', [], {
    config: { strategy: { mode: 'fallback' }, targets: [target('a'), target('b')] },
    script: { a: [failing(503)], b: [{ events: [chunk('b'), 'data: [DONE]\n\n'] }] },
  }),
  streamed('after another try', [], {
    config: retry(1),
    script: twice(failing(503), { events: [chunk('b'), 'data: [DONE]\n\n'] }),
  }),
  streamed('of completions', ['data: {"choices":[{"text":"a"}]}\n\n', 'data: [DONE]\n\n'], {
    path: '/v1/completions',
    body: { model: 'm', prompt: 'x', stream: true },
  }),
  streamed('of messages', ['event: message_start\ndata: {"type":"message_start"}\n\n'], {
    config: target('a', { provider: 'anthropic' }),
    path: '/v1/messages',
    body: { ...chat, max_tokens: 5, stream: true },
  }),
  streamed('of responses', ['event: response.created\ndata: {"type":"response.created"}\n\n'], {
    path: '/v1/responses',
    body: { model: 'm', input: 'x', stream: true },
  }),
  streamed('of a path that is only forwarded', ['data: 1\n\n', 'data: 2\n\n'], {
    path: '/v1/moderations',
  }),
];

const answered = (name: string, answer: Answer, more: Partial<Case> = {}): Case => ({
  name: `answer: ${name}`,
  config: target('a'),
  script: { a: [answer] },
  ...more,
});

const answers: Case[] = [
  answered('with headers of the provider', {
    headers: {
      'x-request-id': 'r1',
      'openai-processing-ms': '5',
      'x-ratelimit-remaining-requests': '9',
    },
  }),
  answered('with a cookie', { headers: { 'set-cookie': 'a=b' } }),
  answered('with more members than there should be', {
    body: { a: { b: [1, null, 'é'] }, usage: null },
  }),
  answered('with an error in a 200', { body: { error: { message: 'x' } } }),
  answered('that is a list', { body: [1, 2] }),
  answered('in text', { body: 'plain', headers: { 'content-type': 'text/plain' } }),
  answered('in HTML, with 502', {
    status: 502,
    body: '<h1>Bad Gateway</h1>',
    headers: { 'content-type': 'text/html' },
  }),
  answered('that is no JSON', { body: '{"a":', headers: { 'content-type': 'application/json' } }),
  answered('of nothing', { body: '', headers: { 'content-type': 'application/json' } }),
  answered('of nothing, with 500', { status: 500, body: '' }),
  answered('with 204', { status: 204, body: '' }),
  answered('that leads elsewhere', { status: 302, headers: { location: 'elsewhere' }, body: '' }),
  answered('in bytes', { headers: { 'content-type': 'application/octet-stream' }, body: 'bytes' }),
  answered('cut off before it begins', { fault: 'reset' }),
  answered(
    'cut off before it begins, then another target',
    { fault: 'reset' },
    {
      config: { strategy: { mode: 'fallback' }, targets: [target('a'), target('b')] },
    },
  ),
  answered(
    'cut off before it begins, then once more',
    { fault: 'reset' },
    {
      config: retry(1),
      script: twice({ fault: 'reset' }, {}),
    },
  ),
  ...[400, 401, 403, 404, 409, 413, 422, 429, 500, 503].map((status) =>
    answered(`with ${status} and an error of OpenAI`, {
      status,
      body: { error: { message: 'm', type: 't', param: 'p', code: 'c' } },
    }),
  ),
];

const refusals: Case[] = [
  { name: 'refusal: a config that is no JSON', config: '{' },
  { name: 'refusal: no config and no provider' },
  { name: 'refusal: a config of nothing', config: {} },
  { name: 'refusal: a provider that nobody knows', config: target('a', { provider: 'none' }) },
  { name: 'refusal: an empty body', config: target('a'), body: '' },
  { name: 'refusal: a body that is no JSON', config: target('a'), body: '{"model":' },
  { name: 'refusal: a body that is a list', config: target('a'), body: '[]' },
  {
    name: 'refusal: a body in a form',
    config: target('a'),
    body: 'a=b',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  ...[
    'http://169.254.169.254/v1',
    'http://10.0.0.1/v1',
    'ftp://127.0.0.1/v1',
    'http://metadata',
    'x',
  ].map((host) => ({
    name: `refusal: custom host ${host}`,
    config: target('a', { custom_host: host }),
  })),
  {
    name: 'refusal: custom host in a header',
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': 'http://169.254.169.254/v1',
      authorization: 'Bearer sk',
    },
  },
  {
    name: 'refusal: a custom host with a password',
    config: target('a', { custom_host: at('a').replace('http://', 'http://a:b@') }),
  },
  { name: 'refusal: a timeout of nothing', config: target('a', { request_timeout: 0 }) },
  { name: 'refusal: a weight below nought', config: target('a', { weight: -1 }) },
];

export const answerCases: readonly Case[] = [
  ...retries,
  ...waits,
  ...times,
  ...streams,
  ...answers,
  ...refusals,
];
