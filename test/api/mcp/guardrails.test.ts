/** Verifies that guardrails judge tool calls and their results; the server's journal and the response are the witnesses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let key: string;
const forbidden = 'mellon';

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => plane[Symbol.asyncDispose]());

const contains = {
  id: 'default.contains',
  parameters: { words: [forbidden], operator: 'none' },
};

interface Mapping {
  readonly run_on?: readonly string[];
  readonly capability_ids?: readonly string[];
}

/** Adds a server that a new guardrail judges. */
async function addGuarded(
  mapping: Mapping,
  actions: object = { deny: true },
  checks: readonly object[] = [contains],
  integration?: CreatedResource,
): Promise<CreatedResource> {
  const server = await plane.addServer({}, integration);
  await plane.guard(server, checks, mapping, actions);
  return server;
}

const call = (slug: string, args: object, name = 'echo') =>
  plane.call(key, slug, 'tools/call', { name, arguments: args });

describe('an input guardrail', () => {
  it.each([
    ['a text', { text: `say ${forbidden}` }],
    ['a nested text', { a: [{ b: `say ${forbidden}` }] }],
    ['the name of a member', { [`say ${forbidden} now`]: 1 }],
    ['a text in escapes', JSON.parse('{"text":"\\u006dellon"}')],
    ['JSON in a text', { text: JSON.stringify({ deep: `${forbidden}` }) }],
  ])('denies a call with %s before the server sees it', async (_, args) => {
    for (const run_on of [['input'], ['beforeToolCall'], ['input', 'beforeToolCall']]) {
      const { slug } = await addGuarded({ run_on });
      const denied = await call(slug, args);
      expect(denied).toMatchObject({
        status: 200,
        body: { id: 1, error: { code: -32446, data: { code: 'guardrail_denied' } } },
      });
      expect(JSON.stringify(denied.body)).not.toContain(forbidden);
      expect(plane.upstream.journal).toEqual([]);
    }
  });

  it('judges answers of the client and repeated headers too', async () => {
    const { slug } = await addGuarded({ run_on: ['input'] });
    const answer = {
      jsonrpc: '2.0',
      id: 4,
      result: { action: 'accept', content: { a: forbidden } },
    };
    expect((await plane.send(key, slug, answer)).body.error.code).toBe(-32446);
    const retry = { name: 'echo', inputResponses: { a: { content: forbidden } } };
    expect((await plane.call(key, slug, 'tools/call', retry)).body.error.code).toBe(-32446);
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-param-note': `=?base64?${Buffer.from(forbidden).toString('base64')}?=`,
    };
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const sent = await plane.call(key, slug, 'tools/call', { name: 'echo', _meta }, { headers });
    expect(sent.body.error.code).toBe(-32446);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('judges only the tools of its mapping, and lets other texts pass', async () => {
    const integration = await plane.addIntegration();
    const path = `/v2/mcp-integrations/${integration.id}/capabilities`;
    const capabilities = [
      { name: 'echo', type: 'tool', enabled: true },
      { name: 'greet', type: 'prompt', enabled: true },
    ];
    await plane.server.request('PUT', path, { body: { capabilities } });
    const { data } = (await plane.server.request('GET', path)).body;
    const ids = data.map(({ id }: { id: string }) => id);
    const { slug } = await addGuarded(
      { capability_ids: ids },
      { deny: true },
      [contains],
      integration,
    );
    expect((await call(slug, { text: forbidden })).body.error.code).toBe(-32446);
    expect((await call(slug, { text: forbidden }, 'add')).body.result).toBeDefined();
    expect((await call(slug, { text: 'friend' })).body.result).toBeDefined();
    // Guardrails judge tool calls only, so a prompt that one is mapped to does not pass unjudged.
    const prompt = await plane.call(key, slug, 'prompts/get', { name: 'greet' });
    expect(prompt.body.error.message).toContain('guardrails judge tool calls only');
    expect(plane.upstream.calls()).toEqual(['add', 'echo']);
  });

  it('lets the call pass when it only observes', async () => {
    const { slug } = await addGuarded({ run_on: ['input'] }, {});
    expect((await call(slug, { text: forbidden })).body.result).toBeDefined();
    expect(plane.upstream.calls()).toEqual(['echo']);
  });

  it('denies texts that cannot be read, unless it only records', async () => {
    const args = { text: `["${'\\u0061","'.repeat(200_000)}a"]` };
    const denying = await addGuarded({ run_on: ['input'] });
    expect((await call(denying.slug, args)).body.error.message).toMatch(/cannot be judged/);
    expect(plane.upstream.calls()).toEqual([]);
    const recording = await addGuarded({ run_on: ['input'] }, { deny: true, mode: 'monitor' });
    expect((await call(recording.slug, args)).body.error).toBeUndefined();
  });

  it('sends the texts as it has changed them', async () => {
    const replace = {
      id: 'default.regexReplace',
      parameters: { rule: forbidden, redactText: '***' },
    };
    const { slug } = await addGuarded({ run_on: ['input'] }, {}, [replace]);
    await call(slug, { text: `say ${forbidden}`, count: 1 });
    expect(plane.upstream.journal[0]!.body.params).toEqual({
      name: 'echo',
      arguments: { text: 'say ***', count: 1 },
    });
  });

  it('takes effect at a server in use within a second, and ends with its mapping', async () => {
    const { slug, id } = await plane.addServer();
    expect((await call(slug, { text: forbidden })).body.result).toBeDefined();
    const guardrail = await plane.create('/v2/guardrails', {
      name: 'later',
      target: 'mcp_tools',
      workspace_id: plane.workspace.id,
      checks: [contains],
      actions: { deny: true },
    });
    const path = `/admin/v2/guardrails/${guardrail.id}/mcp-servers/${id}`;
    await plane.server.request('PUT', path, { body: {} });
    await eventually(async () =>
      expect((await call(slug, { text: forbidden })).body.error.code).toBe(-32446),
    );
    await plane.server.request('DELETE', path);
    await eventually(async () =>
      expect((await call(slug, { text: forbidden })).body.result).toBeDefined(),
    );
  });

  it('sends the secret headers of a check in plain text', async () => {
    const webhookURL = `http://${plane.upstream.host}/hook`;
    const headers = { 'x-token': 'of-the-webhook' };
    const { slug } = await addGuarded({}, { deny: true }, [
      { id: 'default.webhook', parameters: { webhookURL, headers } },
    ]);
    await call(slug, { text: 'x' });
    const [hook] = plane.upstream.journal;
    expect([hook!.url, hook!.headers['x-token']]).toEqual(['/hook', 'of-the-webhook']);
  });

  it('denies when a check cannot run', async () => {
    const webhookURL = `http://${plane.upstream.host}/hook`;
    const { slug } = await addGuarded({}, { deny: true }, [
      { id: 'default.webhook', parameters: { webhookURL } },
    ]);
    plane.upstream.script = (_, response) => response.writeHead(500).end();
    expect((await call(slug, { text: 'x' })).body.error.code).toBe(-32446);
    expect(plane.upstream.journal.map(({ url }) => url)).toEqual(['/hook']);
  });
});

describe('an output guardrail', () => {
  const secret = { type: 'text', text: `the word is ${forbidden}` };
  const results: [string, object][] = [
    ['a text', { content: [secret] }],
    ['structured content', { content: [], structuredContent: { a: { b: [forbidden] } } }],
    [
      'an embedded resource',
      { content: [{ type: 'resource', resource: { uri: 'a://b', text: forbidden } }] },
    ],
    ['an error result', { isError: true, content: [secret] }],
    ['metadata', { content: [], _meta: { note: forbidden } }],
  ];

  it.each(
    results.flatMap(([what, result]) =>
      [false, true].map((streams) => [what, streams, result] as const),
    ),
  )('withholds a result with %s, streamed: %s', async (_, streams, result) => {
    const { slug } = await addGuarded({ run_on: ['output'] });
    Object.assign(plane.upstream, { streams, answer: () => ({ result }) });
    const denied = await call(slug, { text: 'x' });
    const text = JSON.stringify(denied.body);
    expect(text).toContain('-32446');
    expect(text).not.toContain(forbidden);
    expect(plane.upstream.calls()).toEqual(['echo']);
  });

  it('withholds errors, progress, log messages and questions of the server', async () => {
    const { slug } = await addGuarded({ run_on: ['afterToolCall'] });
    const notices = [
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progress: 1, message: forbidden },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: { a: forbidden } },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: 'harmless' },
      },
    ];
    Object.assign(plane.upstream, { streams: true, before: notices });
    const passed = await call(slug, { text: 'fine' });
    expect(passed.body).not.toContain(forbidden);
    expect(passed.body).toContain('harmless');
    expect(passed.body).toContain('fine');
    plane.upstream.before = [
      { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: forbidden } },
    ];
    const questioned = await call(slug, { text: 'fine' });
    expect(questioned.body).not.toContain(forbidden);
    expect(questioned.body.match(/^data: /gm)).toHaveLength(1);
    expect(questioned.body).toContain('-32446');
    Object.assign(plane.upstream, {
      before: [],
      streams: false,
      answer: () => ({ error: { code: -1, message: forbidden } }),
    });
    expect(JSON.stringify((await call(slug, { text: 'fine' })).body)).not.toContain(forbidden);
    plane.upstream.script = (_, response) =>
      response.writeHead(500, { 'content-type': 'application/json' }).end(`{"a":"${forbidden}"}`);
    const failed = await call(slug, { text: 'fine' });
    expect(failed.status).toBe(500);
    expect(JSON.stringify(failed.body)).not.toContain(forbidden);
  });

  it('withholds a text that is split over chunks, comments, and messages of earlier calls', async () => {
    const { slug } = await addGuarded({});
    const result = { jsonrpc: '2.0', id: 1, result: { content: [secret] } };
    const bytes = Buffer.from(
      `: ${forbidden}\nid: ${forbidden} x\ndata: ${JSON.stringify(result)}\n\n`,
    );
    plane.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      response.end();
    };
    const denied = await call(slug, { text: 'x' });
    expect(denied.body).toContain('-32446');
    expect(denied.body).not.toContain(forbidden);
    plane.upstream.script = null;
    const stream = await fetch(`${plane.server.mcpUrl}/${slug}/mcp`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
    });
    plane.upstream.push({ ...result, id: 99 });
    plane.upstream.push({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { data: 'end' },
    });
    let text = '';
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('"end"')) break;
    }
    expect(text).toContain('-32446');
    expect(text).not.toContain(forbidden);
  });

  it('changes a result, whose other members stay', async () => {
    const replace = {
      id: 'default.regexReplace',
      parameters: { rule: forbidden, redactText: '***' },
    };
    const { slug } = await addGuarded({ run_on: ['output'] }, {}, [replace]);
    plane.upstream.answer = () => ({ result: { content: [secret], structuredContent: { n: 1 } } });
    const { body } = await call(slug, {});
    expect(body.result).toEqual({
      content: [{ type: 'text', text: 'the word is ***' }],
      structuredContent: { n: 1 },
    });
  });

  it('drops responses to other requests and second ones', async () => {
    const { slug } = await addGuarded({ run_on: ['output'] });
    Object.assign(plane.upstream, {
      streams: true,
      before: [
        { jsonrpc: '2.0', id: 5, result: { content: [{ type: 'text', text: 'other' }] } },
        { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'first' }] } },
      ],
    });
    const { body } = await call(slug, { text: 'second' });
    expect(body.match(/^data: /gm)).toHaveLength(1);
    expect(body).toContain('first');
  });
});

it('judges in no case when guardrails are switched off by setting', async () => {
  await using off = await startMcpTestPlane({
    features: { ...plane.server.settings.features, guardrails: false },
  });
  const own = await off.addKey();
  const server = await off.addServer();
  expect((await off.call(own.key, server.slug, 'tools/call', { name: 'echo' })).status).toBe(200);
});
