/**
 * Verifies through the gateway that guardrails see every text of requests and responses, and deny what
 * they cannot judge.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const word = 'forbidden-word';
const forbids = (more: object = {}) => ({
  'default.contains': { words: [word], operator: 'none' },
  deny: true,
  ...more,
});
const config = { input_guardrails: [forbids()] };
/** The service whose own format the path has. */
function serviceOf(path: string): object {
  if (path.startsWith('/messages')) return { provider: 'anthropic', api_key: 'k' };
  return path === '/responses' ? { provider: 'openai', api_key: 'k' } : {};
}
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const tool = (more: object) => ({
  tools: [{ type: 'function', function: { name: 'f', ...more } }],
});
const escaped = `\\u0066${word.slice(1)}`;
const source = { type: 'text', media_type: 'text/plain', data: word };

describe('a text in a request', () => {
  it.each<[string, string, object]>([
    ['an Anthropic document', '/messages', user([{ type: 'document', source }])],
    [
      'an Anthropic document in parts',
      '/messages',
      user([
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: word }] } },
      ]),
    ],
    ['the title of a document', '/messages', user([{ type: 'document', title: word }])],
    ['the context of a document', '/messages', user([{ type: 'document', context: word }])],
    ['the input of a tool', '/messages', user([{ type: 'tool_use', input: { id: word } }])],
    ['prompt beside messages', '/chat/completions', { prompt: word }],
    ['inputs', '/chat/completions', { inputs: [{ role: 'user', content: word }] }],
    ['the description of a tool', '/chat/completions', tool({ description: word })],
    [
      'the schema of a tool',
      '/chat/completions',
      tool({ parameters: { properties: { a: { enum: [word] } } } }),
    ],
    [
      'the description of a response format',
      '/chat/completions',
      { response_format: { type: 'json_schema', json_schema: { description: word } } },
    ],
    [
      'the arguments of a call',
      '/chat/completions',
      { messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: word } }] }] },
    ],
    [
      'escaped arguments',
      '/chat/completions',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ function: { arguments: `{"a":"${escaped}"}` } }] },
        ],
      },
    ],
    ['suffix', '/completions', { prompt: 'x', suffix: word }],
    ['a nested prompt', '/completions', { prompt: [['x', [word]]] }],
    ['messages as an object', '/chat/completions', { messages: { 0: { content: word } } }],
    ['messages as one message', '/chat/completions', { messages: { role: 'user', content: word } }],
    [
      'an unknown part at depth',
      '/chat/completions',
      user([{ type: 'x', y: { type: 'z', parts: [{ any: { id: word } }] } }]),
    ],
    ['an unknown member', '/responses', { input: 'x', invented: { deep: [word] } }],
    ['a variable of a prompt', '/responses', { input: 'x', prompt: { variables: { id: word } } }],
    ['a role that does not exist', '/chat/completions', { messages: [{ role: word }] }],
    ['the text of an image', '/images/generations', { prompt: word }],
    ['the text of a speech', '/audio/speech', { input: word }],
    ['the text that is counted', '/messages/count_tokens', user(word)],
  ])('is judged by default: %s', async (_, path, params) => {
    const answer = await inference.chat(key, {
      config: { ...serviceOf(path), ...config },
      path: `/v1${path}`,
      params,
    });
    expect(answer.status).toBe(446);
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('is redacted where it is found', async () => {
    const redacts = { 'default.regexReplace': { rule: word, redactText: '[...]' } };
    const params = {
      ...user([
        { type: 'document', source },
        { type: 'x', id: 'p1', y: { any: word } },
      ]),
      ...tool({ description: `a ${word}` }),
    };
    await inference.chat(key, { config: { input_guardrails: [redacts] }, params });
    const [sent] = inference.upstream.reached;
    const text = String(sent!.body);
    expect(text).not.toContain(word);
    expect(JSON.parse(text)).toMatchObject({
      ...tool({ description: 'a [...]' }),
      messages: [{ content: [{ source: { data: '[...]' } }, { id: 'p1', y: { any: '[...]' } }] }],
    });
  });

  it('is refused where it is nested too deeply to be judged, and passes without guardrails', async () => {
    let content: unknown = word;
    for (let depth = 0; depth < 110; depth += 1) content = [content];
    const refused = await inference.chat(key, { config, params: user(content) });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } });
    expect(refused.body.error.message).toContain('nested deeper than 100');
    expect((await inference.chat(key, { params: user('x') })).status).toBe(200);
  });

  it('may be an id, a setting or an address where the format has one', async () => {
    const params = {
      model: word,
      user: word,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `https://a.example/${word}` } }],
        },
      ],
    };
    expect((await inference.chat(key, { config, params })).status).toBe(200);
  });
});

const message = (more: object) => ({
  ...chatAnswer,
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi', ...more } }],
});
const calls = {
  tool_calls: [{ id: 'c', function: { name: 'f', arguments: `{"a":"${escaped}"}` } }],
};

describe('a text in a response', () => {
  const output = { output_guardrails: [forbids()] };

  it.each<[string, string, object]>([
    ['a transcript', '/chat/completions', message({ audio: { id: 'a', transcript: word } })],
    ['the arguments of a call', '/chat/completions', message(calls)],
    ['a reasoning text', '/chat/completions', message({ reasoning_content: word })],
    ['a refusal', '/chat/completions', message({ refusal: word })],
    ['an unknown part', '/chat/completions', message({ content: [{ type: 'x', y: { z: word } }] })],
    ['an unknown member', '/chat/completions', { ...chatAnswer, invented: [word] }],
    ['a thought', '/messages', { content: [{ type: 'thinking', thinking: word }] }],
    ['the input of a tool', '/messages', { content: [{ type: 'tool_use', input: { id: word } }] }],
    ['a summary', '/responses', { output: [{ type: 'reasoning', summary: [{ text: word }] }] }],
    ['a call', '/responses', { output: [{ type: 'function_call', arguments: `{"a":"${word}"}` }] }],
  ])('is judged: %s', async (_, path, body) => {
    inference.upstream.script = (_, response) => sendJson(response, body);
    const answer = await inference.chat(key, {
      config: { ...serviceOf(path), ...output },
      path: `/v1${path}`,
      params: { input: 'x', prompt: 'x', max_tokens: 5 },
    });
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).not.toContain(word);
  });

  it.each<[string, readonly object[]]>([
    ['a transcript', [{ audio: { transcript: 'forbidden' } }, { audio: { transcript: '-word' } }]],
    ['a reasoning text', [{ reasoning_content: 'forbidden' }, { reasoning_content: '-word' }]],
    [
      'the arguments of a call',
      ['{"a":"forbidden', '-word"}'].map((piece) => ({
        tool_calls: [{ index: 0, function: { arguments: piece } }],
      })),
    ],
    ['an unknown member', [{ invented: { deep: 'forbidden' } }, { invented: { deep: '-word' } }]],
  ])('is judged in a stream, in pieces: %s', async (_, deltas) => {
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const delta of deltas) {
        const chunk = { ...chatAnswer, choices: [{ index: 0, delta }] };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      }
      response.end('data: [DONE]\n\n');
    };
    const answer = await inference.chat(key, { config: output, params: { stream: true } });
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).not.toContain('-word');
  });
});

describe('a multipart form', () => {
  const sound = Buffer.from([0x52, 0x49, 0x46, 0x46, 0, 1, 2, 3, 0xff, 0xfe, 0x80, 0x81, 0, 5]);
  const redacts = { 'default.regexReplace': { rule: word, redactText: 'REDACTED' } };
  const code = word.charCodeAt(0).toString(16).padStart(4, '0');

  async function send(guardrail: object, fields: [string, string | Blob, string?][]) {
    const form = new FormData();
    for (const [name, value, file] of fields) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, file);
    }
    const { server, upstream } = inference;
    const inline = {
      provider: 'mock-upstream',
      custom_host: upstream.url,
      input_guardrails: [guardrail],
    };
    upstream.reached.length = 0;
    const answer = await fetch(`${server.inferenceUrl}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'x-gateway-config': JSON.stringify(inline) },
      body: form,
    });
    const [reached] = upstream.reached;
    const type = reached?.headers['content-type'];
    const headers = { 'content-type': String(type) };
    const sent = reached && (await new Response(reached.body, { headers }).formData());
    return { status: answer.status, sent };
  }

  const model: [string, string] = ['model', 'm'];
  const picture: [string, Blob, string] = ['image', new Blob([sound]), 'a "b".png'];

  it.each([
    ['a field', [['prompt', `draw ${word}`]]],
    [
      'a repeated field',
      [
        ['note', 'a'],
        ['note', word],
      ],
    ],
    ['an unknown field', [['unheard_of', word]]],
    [
      'a file of JSON lines with escapes',
      [
        [
          'mask',
          new Blob([`{"a":"x"}\n{"body":{"content":"\\u${code}${word.slice(1)}"}}\n`]),
          'a.jsonl',
        ],
      ],
    ],
    ['a file that is a text', [['mask', new Blob([`a ${word}`], { type: 'image/png' }), 'a.png']]],
  ] as [string, [string, string | Blob, string?][]][])(
    'is denied for a forbidden text in %s, and sent with it replaced by one that redacts',
    async (_, fields) => {
      expect(await send(forbids(), [model, picture, ...fields])).toEqual({ status: 446 });
      const { status, sent } = await send(redacts, [model, ...fields, picture]);
      expect(status).toBe(200);
      const values = await Promise.all(
        [...sent!.values()].map((value) => (typeof value === 'string' ? value : value.text())),
      );
      expect([...sent!.keys()]).toEqual(['model', ...fields.map(([name]) => name), 'image']);
      expect(values.join()).not.toContain(word);
      expect(values.join()).toContain('REDACTED');
      const image = sent!.get('image') as File;
      expect(image.name).toBe('a "b".png');
      expect(Buffer.from(await image.arrayBuffer())).toEqual(sound);
    },
  );

  it('is sent unchanged where nothing is found in it', async () => {
    for (const guardrail of [forbids(), redacts]) {
      const { status, sent } = await send(guardrail, [model, picture, ['prompt', 'a tree']]);
      expect([status, sent!.get('prompt')]).toEqual([200, 'a tree']);
    }
  });
});

describe('a body or a check that cannot be judged', () => {
  async function upload(guardrail: object): Promise<number> {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([word]), 'a.jsonl');
    // An upload without a declared length is streamed and not read.
    const encoded = new Response(form);
    const { server, upstream } = inference;
    const inline = {
      provider: 'openai',
      custom_host: `${upstream.url}/v1`,
      input_guardrails: [guardrail],
    };
    const answer = await fetch(`${server.inferenceUrl}/v1/files`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer sk-own',
        'x-gateway-api-key': key,
        'x-gateway-config': JSON.stringify(inline),
        'content-type': encoded.headers.get('content-type')!,
      },
      body: encoded.body,
      duplex: 'half',
    });
    return answer.status;
  }

  it('is denied if the guardrail denies, and passes where the guardrail says so', async () => {
    expect(await upload(forbids())).toBe(446);
    expect(inference.upstream.reached).toHaveLength(0);
    expect(await upload(forbids({ on_unsupported: 'pass' }))).toBe(200);
    expect(await upload(forbids({ deny: false }))).toBe(200);
    expect(inference.upstream.reached).toHaveLength(2);
  });

  it('does not concern requests and responses without texts', async () => {
    inference.upstream.script = (_, response) => sendJson(response, { object: 'list', data: [] });
    const guarded = { ...config, output_guardrails: [forbids()] };
    const list = await inference.chat(key, { config: guarded, path: '/v1/models', method: 'GET' });
    expect(list.status).toBe(200);
  });

  it.each(['default.contians', 'contians'])('is refused in a new config: %s', async (id) => {
    const inline = { input_guardrails: [{ [id]: { words: ['a'] }, deny: true }] };
    const refused = await inference.chat(key, { config: inline });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_config' } } });
    expect(refused.body.error.message).toContain('did you mean "default.contains"?');
  });

  it('is denied if another version of the gateway has stored it', async () => {
    const { server } = inference;
    const { body } = await server.request('POST', '/admin/v2/guardrails', {
      body: {
        name: 'of another version',
        checks: [{ id: 'default.contains', parameters: { words: ['a'], operator: 'none' } }],
        actions: { deny: true },
      },
    });
    const store = (actions: object) =>
      server.database.db
        .updateTable('guardrails')
        .set({
          checks: JSON.stringify([{ id: 'default.contians', parameters: { words: ['a'] } }]),
          actions: JSON.stringify(actions),
        })
        .where('slug', '=', body.slug)
        .execute();
    await store({ deny: true });
    const named = { input_guardrails: [body.slug] };
    expect((await inference.chat(key, { config: named })).status).toBe(446);
    expect(inference.upstream.reached).toHaveLength(0);
    const renamed = await server.request('PUT', `/admin/v2/guardrails/${body.slug}`, {
      body: { name: 'renamed', actions: { deny: true, on_unsupported: 'pass' } },
    });
    expect(renamed.status).toBe(200);
    const status = async () => (await inference.chat(key, { config: named })).status;
    await expect.poll(status).toBe(200);
  });
});
