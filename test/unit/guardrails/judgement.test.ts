/**
 * Tests the verdicts of guardrail checks on texts and requests, and the action of the guardrail.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { evaluateGuardrails } from '../../../src/guardrails/evaluate.ts';
import {
  buildGuardrail,
  type CheckTools,
  readInlineGuardrail,
} from '../../../src/guardrails/guardrail.ts';
import { Searches } from '../../../src/guardrails/searches.ts';
import { answersIn, type ResponseForm } from '../../../src/guardrails/texts/answer-passages.ts';
import { type JsonObject, replaceTexts } from '../../../src/guardrails/texts/passages.ts';
import { findRequestPassages } from '../../../src/guardrails/texts/request-passages.ts';
import { streamAnswer } from '../../../src/guardrails/texts/stream-answer.ts';
import { runAtOnce } from '../../../src/slices.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { Origins } from '../../../src/upstream/origins.ts';
import { Outbound } from '../../../src/upstream/outbound.ts';
import { chatSubject } from '../../support/guardrails/chat-subject.ts';

const trusted = readTrustedHosts('');
const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
const searches = new Searches();
const origins = new Origins(trustedHosts);
const tools: CheckTools = { searches, outbound: new Outbound(origins, trustedHosts) };

afterAll(async () => {
  searches[Symbol.dispose]();
  await origins[Symbol.asyncDispose]();
});

const subject = { ...chatSubject, metadata: { team: 'red' } };

/** The verdict of an inline guardrail on one text. */
function stated(item: Record<string, unknown>, text: string, more: object = {}) {
  const guardrail = buildGuardrail(readInlineGuardrail(item, 'one'), tools);
  const passages = [{ path: ['messages', 0, 'content'], text }];
  return evaluateGuardrails([guardrail], { ...subject, ...more, passages, lastCount: 1 }, 0);
}

const long = 'word '.repeat(2_000);

describe('a check', () => {
  it.each([
    ['regexMatch', { rule: 'b+' }, 'abba', true],
    ['regexMatch', { rule: 'b+', not: true }, 'abba', false],
    ['regexMatch', { rule: 'b+' }, `${long}b`, true],
    ['contains', { words: ['a', 'z'], operator: 'any' }, 'abc', true],
    ['contains', { words: ['a', 'z'], operator: 'all' }, 'abc', false],
    ['contains', { words: ['y', 'z'], operator: 'none' }, 'abc', true],
    ['sentenceCount', { minSentences: 2 }, 'One. Two!', true],
    ['wordCount', { maxWords: 2 }, 'one two three', false],
    ['characterCount', { minCharacters: 3, maxCharacters: 3 }, 'abc', true],
    ['alluppercase', {}, 'ABC 1', true],
    ['isAllLowerCase', {}, 'aBC', false],
    ['endsWith', { suffix: 'end' }, 'the end.', true],
    ['notNull', {}, '  ', false],
    ['containsCode', { format: 'Python' }, 'see\n```py\nx = 1\n```', true],
    ['containsCode', { format: 'SQL' }, 'see\n```py\nx = 1\n```', false],
    ['jsonKeys', { keys: ['a', 'b'], operator: 'all' }, 'so {"a": 1, "b": 2}', true],
    ['jsonKeys', { keys: ['a'], operator: 'none' }, '```json\n{"b": 1}\n```', true],
    ['jsonSchema', { schema: { required: ['a'] } }, '{"a": 1}', true],
    ['jsonSchema', { schema: { required: ['a'] } }, 'not {"b": 1}', false],
    ['jsonSchema', { schema: { required: ['a'] }, not: true }, 'no JSON', false],
    ['modelWhitelist', { models: ['gpt-4o'] }, 'x', true],
    ['modelWhitelist', { models: ['other'] }, 'x', false],
    ['modelRules', { rules: { defaults: ['*'] } }, 'x', true],
    [
      'modelRules',
      { rules: { defaults: ['*'], metadata: { team: { red: ['small'] } } } },
      'x',
      false,
    ],
    ['allowedRequestTypes', { allowedTypes: ['chatComplete'] }, 'x', true],
    ['allowedRequestTypes', { blockedTypes: ['chat_completions'] }, 'x', false],
    ['requiredMetadataKeys', { metadataKeys: ['team', 'user'], operator: 'all' }, 'x', false],
    ['requiredMetadataKeyValuePairs', { metadataPairs: { team: 'red' } }, 'x', true],
    [
      'requiredMetadataKeyValuePairs',
      { metadataPairs: { team: '^r' }, matchType: 'regex' },
      'x',
      true,
    ],
  ] as const)('%s %j judges %j: %s', async (name, parameters, text, passes) => {
    const { results } = await stated({ [name]: parameters }, text);
    expect(results[0]!.checks[0]).toMatchObject({ id: `default.${name}`, verdict: passes });
    expect(results[0]!.checks[0]!.error).toBeUndefined();
  });

  it.each([
    ['a check of a partner', { 'patronus.phi': {} }],
    ['a category that needs a model', { 'portkey.pii': { categories: ['SSN', 'NAME'] } }],
    ['an unknown check', { 'default.contians': { words: ['x'] } }],
    ['a check with parameters that are not valid', { 'default.requiredMetadataKeyValuePairs': {} }],
    ['an unreachable webhook', { webhook: { webhookURL: 'http://127.0.0.1:1' } }],
  ])(
    'denies if its guardrail denies and it cannot judge, unless told to pass: %s',
    async (_, item) => {
      const denied = await stated({ ...item, deny: true }, 'x');
      expect(denied).toMatchObject({ passes: false, isDenied: true });
      expect(denied.results[0]!.checks[0]!.error).toBeDefined();
      const passing = { passes: true, isDenied: false };
      expect(await stated({ ...item, deny: true, on_unsupported: 'pass' }, 'x')).toMatchObject(
        passing,
      );
      expect(await stated(item, 'x')).toMatchObject(passing);
      const closed = { ...item, fail_closed: true };
      expect(await stated(closed, 'x')).toMatchObject({ passes: false, isDenied: false });
    },
  );

  it('passes on an error when it says so itself, and when there is nothing to judge', async () => {
    const webhook = { webhookURL: 'http://127.0.0.1:1', failOnError: false };
    expect(await stated({ webhook, deny: true }, 'x')).toMatchObject({ isDenied: false });
    const log = { logURL: 'http://127.0.0.1:1' };
    expect(await stated({ log, deny: true }, 'x')).toMatchObject({ isDenied: false });
    const pattern = { regexMatch: { rule: 'bomb', not: true }, deny: true };
    expect(await stated(pattern, '')).toMatchObject({ isDenied: false });
  });

  it('cannot judge an unreadable body if it judges texts', async () => {
    const unreadable = { unreadable: 'the body is not JSON' };
    const contains = { contains: { words: ['x'], operator: 'none' }, deny: true };
    expect(await stated(contains, '', unreadable)).toMatchObject({ isDenied: true });
    const models = { modelWhitelist: { models: ['gpt-4o'] }, deny: true };
    expect(await stated(models, '', unreadable)).toMatchObject({ isDenied: false });
  });

  it('yields an error when a required parameter is missing', async () => {
    for (const name of ['contains', 'regexMatch', 'requiredMetadataKeyValuePairs', 'jsonKeys']) {
      const { results } = await stated({ [name]: {} }, 'text');
      expect(results[0]!.checks[0]!.verdict).toBe(false);
    }
  });

  it('fails without a token when it checks tokens', async () => {
    const item = { jwt: { jwksUri: 'http://127.0.0.1:1/keys' }, deny: true };
    expect(await stated(item, 'x')).toMatchObject({ isDenied: true });
    const headers = { authorization: 'Bearer e30.e30.e30' };
    expect(await stated(item, 'x', { headers })).toMatchObject({ isDenied: true });
  });

  it('stops after its timeout, and the next check runs', async () => {
    const rule = '(?i)[^z]{1,900}#';
    const text = `z${'ab'.repeat(4_000_000)}`;
    const { results } = await stated({ regexMatch: { rule } }, text);
    expect(results[0]!.checks[0]!.error!.message).toContain('took longer');
    expect((await stated({ regexMatch: { rule: 'word' } }, long)).passes).toBe(true);
  });
});

describe('a guardrail', () => {
  it('passes its replacement on, also to the guardrails that follow', async () => {
    const item = {
      regexReplace: { rule: '/secret-\\d+/i', redactText: '$1 \\1 $& $$' },
      contains: { words: ['secret'], operator: 'none' },
    };
    const { passes, passages, results } = await stated(item, 'my SECRET-12');
    expect(passages[0]!.text).toBe('my $1 \\1 $& $$');
    expect(passes).toBe(true);
    expect(results[0]).toMatchObject({ transformed: true, verdict: true });
  });

  it('includes the names of its checks in its feedback', async () => {
    const { results } = await stated(
      {
        contains: { words: ['x'], operator: 'none' },
        notNull: {},
        on_fail: { feedback: { value: -3 } },
      },
      'x',
    );
    expect(results[0]!.feedback).toEqual({
      value: -3,
      weight: 1,
      metadata: {
        successfulChecks: 'default.notNull',
        failedChecks: 'default.contains',
        erroredChecks: '',
      },
    });
  });

  it('checks the last message, or all messages where configured', async () => {
    const messages = [
      { role: 'system', content: 'first' },
      { role: 'user', content: [{ type: 'text', text: 'last' }, { type: 'image_url' }] },
    ];
    const { passages, lastCount } = runAtOnce(
      findRequestPassages('chat_completions', { messages }, false),
    );
    const item = { contains: { words: ['first'], operator: 'none' } };
    const by = async (one: object) =>
      evaluateGuardrails(
        [buildGuardrail(readInlineGuardrail({ ...item, ...one }, 'one'), tools)],
        { ...subject, passages, lastCount },
        0,
      );
    expect((await by({})).passes).toBe(true);
    expect((await by({ scan_scope: 'all_messages' })).passes).toBe(false);
  });
});

describe('a text that accompanies the message', () => {
  const body = {
    messages: [{ role: 'user', content: 'ABC' }],
    tools: [{ type: 'function', function: { name: 'f', description: 'a bomb. call 555-1234' } }],
  };
  const judge = (item: object) => {
    const found = runAtOnce(findRequestPassages('chat_completions', body, false));
    const guardrail = buildGuardrail(readInlineGuardrail({ ...item, deny: true }, 'one'), tools);
    return evaluateGuardrails([guardrail], { ...subject, ...found }, 0);
  };

  it.each([
    { contains: { words: ['bomb'], operator: 'none' } },
    { regexMatch: { rule: 'b[o]mb', not: true } },
    { regexReplace: { rule: '\\d{3}-\\d{4}', failOnDetection: true } },
  ])('is searched for what must not occur: %j', async (item) => {
    expect((await judge(item)).isDenied).toBe(true);
  });

  it.each([
    { endsWith: { suffix: 'ABC' } },
    { alluppercase: {} },
    { wordCount: { maxWords: 1 } },
    { sentenceCount: { maxSentences: 0 } },
    { regexMatch: { rule: '^ABC$' } },
  ])('does not change the form of the message: %j', async (item) => {
    expect((await judge(item)).isDenied).toBe(false);
  });

  it.each([{ contains: { words: ['bomb'], operator: 'any' } }, { regexMatch: { rule: 'bomb' } }])(
    'cannot stand in for what the message must contain: %j',
    async (item) => {
      expect((await judge(item)).isDenied).toBe(true);
    },
  );

  it('is redacted, and gets no prefix', async () => {
    const { passages } = await judge({
      regexReplace: { rule: '\\d{3}-\\d{4}', redactText: '[phone]' },
      addPrefix: { prefix: '> ' },
    });
    expect(passages.map(({ text }) => text)).toEqual(['f', 'a bomb. call [phone]', '> ABC']);
  });
});

const textsIn = (form: ResponseForm, json: JsonObject): string[][] =>
  answersIn(form, json).map(({ passages }) => passages.map(({ text }) => text));

it('replaces texts in one long list as fast as in many short ones', () => {
  const input = Array.from({ length: 100_000 }, (_, at) => `a${at}`);
  const { passages } = runAtOnce(findRequestPassages('embeddings', { input }, false));
  const texts = input.map((text) => `${text}!`);
  expect(replaceTexts({ input, model: 'm' }, passages, texts)).toEqual({
    input: texts,
    model: 'm',
  });
});

describe('a complete stream', () => {
  const streamOf = (form: ResponseForm, events: readonly object[]) => {
    const bytes = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return streamAnswer(form, Buffer.from(bytes.join('')));
  };
  const outputOf = (...texts: readonly string[]) =>
    texts.map((text) => ({ type: 'message', content: [{ type: 'output_text', text }] }));
  const delta = (text: string) => ({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    delta: text,
  });

  it('is checked with final texts, refusals and reasoning', () => {
    const stream = streamOf('responses', [
      delta('said'),
      { type: 'response.refusal.delta', output_index: 1, content_index: 0, delta: 'refused' },
      { type: 'response.content_part.done', part: { type: 'reasoning_text', text: 'thought' } },
      {
        type: 'response.output_item.done',
        item: { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'thought' }] },
      },
      { type: 'response.output_item.done', item: outputOf('told at once')[0] },
      { type: 'response.completed', response: { output: outputOf('said', 'told last') } },
    ]);
    const stated = ['said', 'refused', 'thought', 'told at once', 'told last'];
    expect(textsIn('responses', stream.json)).toEqual([stated]);
    const reported = stream.rewrite(['1', '2', '3', '4', '5']).toString();
    for (const text of stated) expect(reported).not.toContain(`"${text}"`);
  });

  it('drops partial deltas of a text when the complete text is replaced', () => {
    const response = { output: outputOf('call 555-1234') };
    const events = [delta('5-12'), delta('34'), { type: 'response.completed', response }];
    const stream = streamOf('responses', events);
    expect(textsIn('responses', stream.json)).toEqual([['call 555-1234']]);
    const reported = stream.rewrite(['call [phone]']).toString();
    expect(reported).not.toMatch(/5-12|34/);
    expect(reported).toContain('"call [phone]"');
    const [first, , last] = stream.rewrite(['call 555-1234']).toString().split('\n\n');
    expect([first, last]).toEqual(
      [events[0], events[2]].map((event) => `data: ${JSON.stringify(event)}`),
    );
  });

  it('has one text per message of a run, with the output of provider tools', () => {
    const part = (index: number, value: string) => ({ index, type: 'text', text: { value } });
    const piece = (id: string, ...content: object[]) => ({
      id,
      object: 'thread.message.delta',
      delta: { content },
    });
    const message = (id: string, role: string, ...content: object[]) => ({
      id,
      object: 'thread.message',
      role,
      content,
    });
    const logs = { index: 0, type: 'logs', logs: 'logged' };
    const call = { index: 0, type: 'code_interpreter', code_interpreter: { outputs: [logs] } };
    const stepDelta = { step_details: { type: 'tool_calls', tool_calls: [call] } };
    const stream = streamOf('stored', [
      { id: 'run', object: 'thread.run', status: 'queued', instructions: 'of the caller' },
      message('m0', 'user', part(0, 'asked')),
      message('m1', 'assistant'),
      piece('m1', part(0, 'one ')),
      piece('m2', part(0, 'two')),
      piece('m1', part(0, 'and'), part(1, 'more')),
      { id: 's', object: 'thread.run.step.delta', delta: stepDelta },
      message('m1', 'assistant', part(0, 'one and'), part(1, 'more')),
      { event: 'x', data: message('m3', 'assistant', part(0, 'never told in pieces')) },
    ]);
    expect(textsIn('stored', stream.json)).toEqual([
      ['one and', 'more'],
      ['two'],
      ['logged'],
      ['never told in pieces'],
    ]);
    const reported = stream.rewrite(['1', 'more', '2', '3', '4']).toString();
    expect(reported).not.toMatch(/one|and"|two|logged|never/);
    expect(reported.match(/"value":"1"/g)).toHaveLength(2);
    expect(reported.match(/"value":"more"/g)).toHaveLength(2);
    expect(reported).toContain('asked');
  });

  const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}`;

  it.each(['\n', '\r\n', '\r'])(
    'yields its texts, and can be rewritten with others (%j)',
    (newline) => {
      const lines = [chunk({ role: 'assistant', content: 'my ' }), chunk({ content: 'word' })];
      const text = [...lines, 'data: [DONE]'].map((line) => line + newline + newline).join('');
      const stream = streamAnswer('chat_completions', Buffer.from(text));
      expect(textsIn('chat_completions', stream.json)).toEqual([['my word']]);
      const reported = stream.rewrite(['[...]']).toString();
      expect(reported).toBe(
        `${chunk({ role: 'assistant', content: '[...]' })}\n\n${chunk({ content: '' })}\n\ndata: [DONE]\n\n`,
      );
    },
  );

  it('removes the old text from every event of a Responses stream', () => {
    const events = [
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'a ' },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'secret' },
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'a secret' },
      {
        type: 'response.completed',
        response: {
          output: [{ type: 'message', content: [{ type: 'output_text', text: 'a secret' }] }],
        },
      },
    ];
    const bytes = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const stream = streamAnswer('responses', Buffer.from(bytes.join('')));
    expect(textsIn('responses', stream.json)).toEqual([['a secret']]);
    expect(stream.rewrite(['a ***']).toString()).not.toContain('secret');
  });
});
