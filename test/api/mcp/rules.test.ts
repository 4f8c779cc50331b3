/** Verifies message forms, headers, capabilities, limits and the log of the MCP gateway; the server's journal is the witness of each refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagesIn } from '../../support/mcp/open-events.ts';
import { exchange } from '../../support/network/exchange.ts';
import { RawClient } from '../../support/network/raw-client.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';
import { logIsWritten } from '../../support/server/request-log.ts';

let plane: McpTestPlane;
let key: string;
let slug: string;
const modern = '2026-07-28';

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
  ({ slug } = await plane.addServer());
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => plane[Symbol.asyncDispose]());

const callOf = (name: string, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: { text: 'hi' }, ...more },
});

function modernCall(name: string, more: { headers?: Record<string, string>; meta?: object } = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = callOf(name, { _meta: more.meta ?? meta });
  const headers = {
    'mcp-protocol-version': modern,
    'mcp-method': 'tools/call',
    'mcp-name': name,
    ...more.headers,
  };
  return { body, headers };
}

/** Methods that the server received, without the lists in which the gateway looks names up. */
const received = (): string[] =>
  plane.upstream.journal
    .flatMap(({ body }) => [body].flat().map(({ method }) => method))
    .filter((method) => !method.endsWith('/list'));

describe('a message', () => {
  it.each([
    ['that is no JSON', '{"jsonrpc":', -32700],
    ['with a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700],
    ['in UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le'), -32700],
    [
      'with a duplicate member',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}',
      -32600,
    ],
    [
      'with a duplicate name',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","na\\u006de":"echo"}}',
      -32600,
    ],
    [
      'with a twin of method',
      '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}',
      -32600,
    ],
    [
      'with a twin of name',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","NAME":"add"}}',
      -32600,
    ],
    ['of another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['that is no object', '7', -32600],
    ['with method and result', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600],
    ['with params in a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ['with id null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    [
      'that calls without an id',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
      -32600,
    ],
    [
      'nested too deeply',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`,
      -32700,
    ],
    ['without content', '', -32700],
  ])('is 400 and reaches nobody when it is a message %s', async (_, body, code) => {
    const headers = { 'content-type': 'application/json' };
    const refused = await plane.send(key, slug, body, { headers });
    expect(refused).toMatchObject({ status: 400, body: { jsonrpc: '2.0', error: { code } } });
    expect(plane.upstream.journal).toEqual([]);
  });

  it.each([
    ['text/plain', { 'content-type': 'text/plain' }, 415],
    ['compression', { 'content-type': 'application/json', 'content-encoding': 'gzip' }, 415],
    ['UTF-16 in its type', { 'content-type': 'application/json; charset=utf-16' }, 415],
    ['a page of another origin', { origin: 'https://evil.example' }, 403],
    ['an origin of null', { origin: 'null' }, 403],
    ['a foreign host', { host: 'evil.example' }, 403],
    ['an Accept that fits nothing', { accept: 'text/html' }, 406],
  ])('is refused with the id when it is sent with %s', async (_, headers, status) => {
    const refused = await plane.send(key, slug, JSON.stringify(callOf('echo')), {
      headers: { 'content-type': 'application/json', ...headers },
    });
    expect(refused).toMatchObject({ status, body: { id: 7, error: { code: -32000 } } });
    expect(plane.upstream.journal).toEqual([]);
  });

  it.each([
    ['of this machine', { origin: 'http://localhost:6274' }],
    ['with any Accept', { accept: '*/*' }],
    ['with one Accept', { accept: 'application/json' }],
    ['with a charset', { 'content-type': 'application/json; charset=UTF-8' }],
  ])('passes when it is sent %s', async (_, headers) => {
    const passed = await plane.send(key, slug, JSON.stringify(callOf('echo')), {
      headers: { 'content-type': 'application/json', ...headers },
    });
    expect(passed).toMatchObject({ status: 200, body: { id: 7, result: {} } });
  });

  it('is 413 when it is larger than the bound', async () => {
    const text = 'x'.repeat(4 * 1024 * 1024);
    const refused = await plane.send(key, slug, { ...callOf('echo'), text });
    expect(refused.status).toBe(413);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('is refused with a doubled Origin or credential', async () => {
    for (const name of ['origin: http://localhost', `authorization: Bearer ${key}`]) {
      using client = new RawClient(plane.server.mcpUrl);
      const body = JSON.stringify(callOf('echo'));
      const head = [
        `POST /${slug}/mcp HTTP/1.1`,
        'host: localhost',
        `authorization: Bearer ${key}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        name,
        ...(name.startsWith('origin') ? [name] : []),
      ];
      const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
      expect((await client.sendBytes(bytes, 'POST')).status).toBe(400);
    }
    expect(plane.upstream.journal).toEqual([]);
  });

  it.each(['PUT', 'PATCH', 'OPTIONS'])('is 405 when it is sent by %s', async (method) => {
    const refused = await plane.send(key, slug, undefined, { method });
    expect(refused).toMatchObject({ status: 405, headers: { allow: 'GET, POST, DELETE' } });
  });
});

describe('a batch', () => {
  const batch = [callOf('echo'), { ...callOf('add'), id: 8 }];
  it('passes in the version that has batches only', async () => {
    const passed = await plane.send(key, slug, batch);
    expect(passed.body.map(({ id }: { id: number }) => id)).toEqual([7, 8]);
    for (const version of ['2025-06-18', '2025-11-25', modern]) {
      const headers = { 'mcp-protocol-version': version };
      expect((await plane.send(key, slug, batch, { headers })).status).toBe(400);
    }
    const twice = [callOf('echo'), callOf('add')];
    expect((await plane.send(key, slug, twice)).status).toBe(400);
    expect(plane.upstream.journal).toHaveLength(1);
  });
});

describe('a set of modern headers', () => {
  it('passes unchanged when it agrees with the body', async () => {
    const { body, headers } = modernCall('echo');
    const more = { 'mcp-param-unknown': 'kept', 'mcp-session-id': 'ignored' };
    const passed = await plane.send(key, slug, body, { headers: { ...headers, ...more } });
    expect(passed).toMatchObject({ status: 200, body: { id: 7 } });
    const [probe, entry] = plane.upstream.journal;
    expect(probe!.body.method).toBe('server/discover');
    expect(entry!.headers).toMatchObject({ ...headers, 'mcp-param-unknown': 'kept' });
    expect(entry!.headers['mcp-session-id']).toBeUndefined();
    expect(entry!.text).toBe(JSON.stringify(body));
    const encoded = `=?base64?${Buffer.from('echo').toString('base64')}?=`;
    const again = modernCall('echo', { headers: { 'mcp-name': encoded } });
    expect((await plane.send(key, slug, again.body, again)).status).toBe(200);
  });

  it.each([
    ['another name', { 'mcp-name': 'add' }, undefined, -32020],
    ['another method', { 'mcp-method': 'tools/list' }, undefined, -32020],
    ['another version', { 'mcp-protocol-version': '2027-01-01' }, undefined, -32020],
    ['invalid base64', { 'mcp-name': '=?base64?ZWNobw?=' }, undefined, -32020],
    ['no version in the body', {}, {}, -32602],
  ])('is refused with 400 before any rule when it has %s', async (_, headers, meta, code) => {
    const sent = modernCall('echo', { headers, ...(meta && { meta }) });
    const refused = await plane.send(key, slug, sent.body, sent);
    expect(refused).toMatchObject({ status: 400, body: { id: 7, error: { code } } });
    expect(plane.upstream.journal).toEqual([]);
  });

  it.each(['mcp-name', 'mcp-method', 'mcp-protocol-version'])(
    'is refused with 400 without %s',
    async (name) => {
      const { body, headers } = modernCall('echo');
      const { [name as 'mcp-name']: _, ...others } = headers;
      const refused = await plane.send(key, slug, body, { headers: others });
      expect(refused).toMatchObject({ status: 400, body: { id: 7, error: { code: -32020 } } });
      expect(plane.upstream.journal).toEqual([]);
    },
  );

  it('must not contradict the body in the legacy era either', async () => {
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'add' };
    const refused = await plane.send(key, slug, callOf('echo'), { headers });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: -32020 } } });
    expect(plane.upstream.journal).toEqual([]);
  });

  it('must repeat arguments that have headers', async () => {
    const integration = await plane.addIntegration();
    const schema = {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
      },
    };
    await plane.sync(integration, [{ name: 'echo', type: 'tool', inputSchema: schema }]);
    const server = await plane.addServer({}, integration);
    const { body, headers } = modernCall('echo');
    body.params.arguments = { region: 'eu', count: 3 } as never;
    const status = async (more: Record<string, string>) =>
      (await plane.send(key, server.slug, body, { headers: { ...headers, ...more } })).status;
    expect(await status({ 'mcp-param-region': 'eu', 'mcp-param-count': '3.0' })).toBe(200);
    expect(await status({ 'mcp-param-region': 'us' })).toBe(400);
    expect(await status({ 'mcp-param-count': '4' })).toBe(400);
    expect(plane.upstream.calls()).toEqual(['echo']);
  });

  it('is refused with 405 on GET', async () => {
    const headers = { 'mcp-protocol-version': modern, accept: 'text/event-stream' };
    const refused = await plane.send(key, slug, undefined, { method: 'GET', headers });
    expect(refused.status).toBe(405);
  });
});

describe('a disabled capability', () => {
  let server: CreatedResource;
  beforeAll(async () => {
    const integration = await plane.addIntegration({
      disabled_capabilities: [
        { type: 'tool', name: 'drop_table' },
        { type: 'resource', name: 'test://secret' },
      ],
    });
    server = await plane.addServer(
      {
        disabled_capabilities: [
          { type: 'prompt', name: 'leak' },
          { type: 'resource_template', name: 'note://{id}' },
        ],
      },
      integration,
    );
  });

  it.each([false, true])('is in no list, streamed: %s', async (streams) => {
    plane.upstream.streams = streams;
    const names = async (method: string): Promise<string[]> => {
      const { body } = await plane.call(key, server.slug, method);
      const message = streams ? messagesIn(body)[0]! : body;
      const [items] = Object.values(message.result) as { name: string }[][];
      return items!.map(({ name }) => name);
    };
    expect(await names('tools/list')).toEqual(['echo', 'add']);
    expect(await names('prompts/list')).toEqual(['greet']);
    expect(await names('resources/list')).toEqual(['readme']);
    expect(await names('resources/templates/list')).toEqual([]);
  });

  it.each([
    ['tools/call', { name: 'drop_table' }, { name: 'no_such' }],
    ['prompts/get', { name: 'leak' }, { name: 'no_such' }],
    ['resources/read', { uri: 'test://secret' }, { uri: 'test://none' }],
    ['resources/read', { uri: 'TEST://%73ecret' }, { uri: 'test://none' }],
    ['resources/read', { uri: 'note://17' }, { uri: 'test://none' }],
    ['resources/subscribe', { uri: 'test://secret' }, null],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'leak' } }, null],
  ])('is refused by %s %j like an unknown one', async (method, disabled, unknown) => {
    const refused = await plane.call(key, server.slug, method, disabled);
    expect(refused).toMatchObject({ status: 200, body: { id: 1, error: { code: -32602 } } });
    expect(received()).toEqual([]);
    if (unknown === null) return;
    const other = await plane.call(key, server.slug, method, unknown);
    const shape = ({ status, body }: typeof other) => {
      const { name, uri } = (body === refused.body ? disabled : unknown) as Record<string, string>;
      return { status, text: JSON.stringify(body).replaceAll(String(name ?? uri), 'NAME') };
    };
    expect(shape(other)).toEqual(shape(refused));
  });

  it('ends a whole batch without a call', async () => {
    const batch = [callOf('echo'), { ...callOf('drop_table'), id: 8 }];
    const refused = await plane.send(key, server.slug, batch);
    expect(refused.body).toMatchObject([
      { id: 7, error: { code: -32600 } },
      { id: 8, error: { code: -32602 } },
    ]);
    expect(received()).toEqual([]);
  });

  it('stays hidden on the stream of the server, and takes effect without a new session', async () => {
    const stream = await fetch(`${plane.server.mcpUrl}/${server.slug}/mcp`, {
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'text/event-stream',
        'last-event-id': '5',
      },
    });
    expect(stream.status).toBe(200);
    expect(plane.upstream.journal[0]!.headers['last-event-id']).toBe('5');
    const updated = (uri: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    });
    plane.upstream.push(updated('test://secret'));
    plane.upstream.push({ jsonrpc: '2.0', id: 9, result: { tools: [{ name: 'drop_table' }] } });
    plane.upstream.push(updated('test://readme'));
    let text = '';
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('readme')) break;
    }
    expect(text).not.toContain('secret');
    expect(text).not.toContain('drop_table');
    const put = await plane.server.request('PUT', `/v2/mcp-servers/${server.id}/capabilities`, {
      body: { capabilities: [{ name: 'add', type: 'tool', enabled: false }] },
    });
    expect(put.status).toBe(200);
    await eventually(async () => {
      const { body } = await plane.call(key, server.slug, 'tools/call', { name: 'add' });
      expect(body.error?.code).toBe(-32602);
    });
  });

  it('closes reading when it is a resource without a known address', async () => {
    const closed = await plane.addServer({
      disabled_capabilities: [{ type: 'resource', name: 'secret' }],
    });
    const refused = await plane.call(key, closed.slug, 'resources/read', { uri: 'test://secret' });
    expect(refused.body.error.message).toContain('the disabled resource secret');
    expect(plane.upstream.journal).toEqual([]);
  });
});

describe('a limit', () => {
  const window = { type: 'requests', unit: 'rpd', value: 2 };

  async function addPolicy(conditions: object[], more: object = {}): Promise<void> {
    await plane.create('/v2/policies/rate-limits', {
      name: 'tools',
      target: 'mcp_tools',
      conditions,
      group_by: [{ key: 'api_key' }],
      workspace_id: plane.workspace.id,
      ...window,
      ...more,
    });
  }

  it('counts each tool call once and no other message', async () => {
    const server = await plane.addServer();
    await addPolicy([{ key: 'mcp_server', value: server.slug }]);
    // A key that is created later makes the gateway read the policies anew.
    const own = await plane.addKey();
    for (const method of ['initialize', 'tools/list', 'tools/call', 'tools/call']) {
      const passed = await plane.call(own.key, server.slug, method, { name: 'echo' });
      expect(passed.status).toBe(200);
    }
    const refused = await plane.call(own.key, server.slug, 'tools/call', { name: 'echo' });
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
      body: { id: 1, error: { code: -32000, data: { code: 'rate_limit_exceeded' } } },
    });
    expect((await plane.call(own.key, server.slug, 'tools/list')).status).toBe(200);
    expect(plane.upstream.calls()).toEqual(['echo', 'echo']);
  });

  it('counts each call of a batch under the limit of its key', async () => {
    const own = await plane.addKey({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 3 }] });
    const batch = [callOf('echo'), { ...callOf('add'), id: 8 }];
    expect((await plane.send(own.key, slug, batch)).status).toBe(200);
    const refused = await plane.send(own.key, slug, batch);
    expect(refused.body).toMatchObject([
      { id: 7, error: { code: -32600 } },
      { id: 8, error: { code: -32000 } },
    ]);
    // The first call of the refused batch was not sent, so it does not count.
    expect((await plane.send(own.key, slug, callOf('echo'))).status).toBe(200);
    expect((await plane.send(own.key, slug, callOf('echo'))).status).toBe(429);
    expect(plane.upstream.calls()).toEqual(['echo', 'add', 'echo']);
  });

  /** A key whose calls a budget limits. */
  async function addBudgetedKey(credit_limit: number) {
    await plane.create('/v2/policies/usage-limits', {
      name: 'calls',
      type: 'requests',
      credit_limit,
      conditions: [{ key: 'metadata.team', value: 'budgeted' }],
      group_by: [{ key: 'api_key' }],
      workspace_id: plane.workspace.id,
    });
    return await plane.addKey({ defaults: { metadata: { team: 'budgeted' } } });
  }

  it('is 429 too when it is a budget in requests', async () => {
    const own = await addBudgetedKey(1);
    expect((await plane.send(own.key, slug, callOf('echo'))).status).toBe(200);
    const refused = await plane.send(own.key, slug, callOf('echo'));
    expect(refused).toMatchObject({
      status: 429,
      body: { id: 7, error: { data: { code: 'usage_limit_exceeded' } } },
    });
    expect(plane.upstream.calls()).toEqual(['echo']);
  });

  it('does not count a call that the server never received', async () => {
    const own = await addBudgetedKey(1);
    const nowhere = await plane.addIntegration({ url: plane.upstream.url });
    const server = await plane.addServer(
      { disabled_capabilities: [{ type: 'tool', name: 'echo' }] },
      nowhere,
    );
    await plane.send(own.key, server.slug, callOf('echo'));
    expect((await plane.send(own.key, server.slug, callOf('add'))).status).toBe(200);
    expect((await plane.send(own.key, server.slug, callOf('add'))).status).toBe(429);
  });

  it('is refused when it limits the cost of tool calls, which cannot be enforced', async () => {
    const server = await plane.addServer();
    await plane.create('/v2/policies/usage-limits', {
      name: 'money',
      type: 'cost',
      credit_limit: 5,
      conditions: [{ key: 'mcp_server', value: server.slug }],
      group_by: [{ key: 'mcp_tool' }],
      workspace_id: plane.workspace.id,
    });
    const own = await plane.addKey();
    const refused = await plane.call(own.key, server.slug, 'tools/call', { name: 'echo' });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining('limits cost') } },
    });
    expect(plane.upstream.calls()).toEqual([]);
  });
});

describe('the log', () => {
  it('has a row of each tool call, prompt and resource with its name and trace', async () => {
    const server = await plane.addServer({
      disabled_capabilities: [{ type: 'tool', name: 'drop_table' }],
    });
    const own = await plane.addKey({ name: 'logged agent' });
    const headers = { 'x-gateway-trace-id': 'trace-of-test' };
    for (const [method, params] of [
      ['initialize', {}],
      ['tools/call', { name: 'echo' }],
      ['tools/call', { name: 'drop_table' }],
      ['prompts/get', { name: 'greet' }],
      ['resources/read', { uri: 'test://readme' }],
    ] as const) {
      await plane.call(own.key, server.slug, method, params, { headers });
    }
    await logIsWritten(plane.server);
    const path = '/admin/v2/logs?trace_id=trace-of-test';
    const { body } = await plane.server.request('GET', path);
    const rows = body.data.map((row: Record<string, unknown>) => [
      row.endpoint,
      row.mcp_server,
      row.mcp_name,
      row.status,
      row.error_code,
    ]);
    expect(rows.toSorted()).toEqual([
      ['prompts/get', server.slug, 'greet', 200, null],
      ['resources/read', server.slug, 'test://readme', 200, null],
      ['tools/call', server.slug, 'drop_table', 200, 'unknown_capability'],
      ['tools/call', server.slug, 'echo', 200, null],
    ]);
    for (const [filter, count] of [
      ['type=mcp', 4],
      ['type=llm', 0],
      [`mcp_server=${server.slug}`, 4],
      ['mcp_name=echo', 1],
    ] as const) {
      const found = await plane.server.request('GET', `${path}&${filter}`);
      expect(found.body.data, filter).toHaveLength(count);
    }
    expect(body.data[0]).toMatchObject({
      api_key_name: 'logged agent',
      workspace_slug: plane.workspace.slug,
      is_reported: false,
    });
    const metrics = (await exchange('GET', `${plane.server.metricsUrl}/metrics`, undefined, {}))
      .body;
    expect(metrics).toMatch(
      /gatewright_mcp_request_duration_seconds_count\{method="tools\/call",status="200"\} [1-9]/,
    );
  });
});
