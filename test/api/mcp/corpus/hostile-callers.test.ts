/** Verifies that callers cannot reach past the rules of a server by unusual messages; the journals of servers are the witness. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { RawClient } from '../../../support/network/raw-client.ts';
import { eventually } from '../../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../../support/server/mcp-plane.ts';
import { addTenant } from '../../../support/server/tenant.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

let plane: McpTestPlane;
let key: string;
let slug: string;
/** A server with a disabled tool, prompt and resource. */
let ruled: CreatedResource;
/** A server whose calls a guardrail judges. */
let guarded: CreatedResource;
const modern = '2026-07-28';
const forbidden = 'mellon';
const card = '4111111111111111';

async function addGuarded(check: object): Promise<CreatedResource> {
  const server = await plane.addServer();
  await plane.guard(server, [check], { run_on: ['input'] });
  return server;
}

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
  ({ slug } = await plane.addServer());
  const integration = await plane.addIntegration({
    disabled_capabilities: [
      { type: 'tool', name: 'drop_table' },
      { type: 'prompt', name: 'leak' },
      { type: 'resource', name: 'test://secret' },
    ],
  });
  ruled = await plane.addServer({}, integration);
  guarded = await addGuarded({
    id: 'default.regexMatch',
    parameters: { rule: `${forbidden}|${card}`, not: true },
  });
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => plane[Symbol.asyncDispose]());

const sendText = (to: string, text: string | Buffer, headers: Record<string, string> = {}) =>
  plane.send(key, to, text, { headers: { 'content-type': 'application/json', ...headers } });

/** Methods that the server received, without the lists that the gateway needs. */
const received = (): string[] =>
  plane.upstream.journal
    .map(({ body, method }) => body?.method ?? method)
    .filter((method) => !method.endsWith('/list'));

describe('a method in another spelling', () => {
  it.each([
    'Tools/Call',
    'TOOLS/CALL',
    'tools//call',
    'tools/call/',
    'tools.call',
    'tools_call',
    '/tools/call',
    'tools\\call',
    'Resources/Read',
    'Notifications/Cancelled',
  ])('is refused: %s', async (method) => {
    const refused = await plane.call(key, ruled.slug, method, { name: 'drop_table' });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: -32600 } } });
    expect(received()).toEqual([]);
  });
});

describe('a name in another spelling', () => {
  it.each([
    'Drop_Table',
    ' drop_table ',
    'drop\u200b_table',
    'drop_table\u{e0041}',
    '\u202edrop_table',
    'drop\u00ad_table',
    'drop_table\u0000',
    'ｄｒｏｐ_table',
    'drop_table\ufe0f',
  ])('reaches no server when the tool is disabled: %j', async (name) => {
    const refused = await plane.call(key, ruled.slug, 'tools/call', { name });
    expect(refused.body.error.code).toBe(-32602);
    expect(received()).toEqual([]);
  });

  it.each([
    ['tools/call', { name: ['drop_table'] }],
    ['tools/call', { name: { toString: 'drop_table' } }],
    ['prompts/get', { name: ['leak'] }],
    ['resources/read', { uri: ['test://secret'] }],
    ['resources/subscribe', { uri: ['test://secret'] }],
    ['resources/unsubscribe', { uri: { href: 'test://secret' } }],
    ['completion/complete', { ref: ['ref/prompt', 'leak'] }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: ['leak'] } }],
    ['completion/complete', { ref: { name: 'leak' } }],
    // A server reads the member that belongs to the type.
    ['completion/complete', { ref: { type: 'ref/resource', name: 'greet', uri: 'test://secret' } }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'leak', uri: 'test://readme' } }],
  ])('is refused where it is not readable or another one: %s %j', async (method, params) => {
    const refused = await plane.call(key, ruled.slug, method, params);
    expect(refused.body.error.code).toBe(-32602);
    expect(received()).toEqual([]);
  });
});

describe('an id of a request', () => {
  it.each(['9007199254740993', '1e400', '-1e999', '1.5', '[1]', '{"a":1}', 'true'])(
    'is refused when readers could understand it differently: %s',
    async (id) => {
      const text = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo"}}`;
      expect(await sendText(slug, text)).toMatchObject({
        status: 400,
        body: { error: { code: -32600 } },
      });
      expect(received()).toEqual([]);
    },
  );

  it('must be its own in a batch, in every spelling of a number and with notifications between', async () => {
    const call = (id: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo"}}`;
    const notice = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';
    for (const ids of [
      ['1', '1.0'],
      ['10', '1e1'],
      ['"a"', '"\\u0061"'],
      ['0', '-0'],
    ]) {
      const refused = await sendText(slug, `[${call(ids[0]!)},${notice},${call(ids[1]!)}]`);
      expect(refused.status).toBe(400);
    }
    expect(received()).toEqual([]);
    const passed = await sendText(slug, `[${call('1')},${notice},${call('"1"')}]`);
    expect(passed.body.map(({ id }: { id: unknown }) => id)).toEqual([1, '1']);
  });
});

describe('a member beside the arguments', () => {
  const call = (params: object, more: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: 'fine' }, ...params },
    ...more,
  });

  it.each<[string, object]>([
    ['_meta', call({ _meta: { note: forbidden } })],
    ['a name in _meta', call({ _meta: { [`the word ${forbidden}`]: 1 } })],
    ['_meta that is no object', call({ _meta: [forbidden] })],
    [
      'a member of the protocol under another name',
      call({ _meta: { 'io.modelcontextprotocol/x': forbidden } }),
    ],
    ['a member of the parameters', call({ extra: { a: [forbidden] } })],
    ['a member of the message', call({}, { extra: forbidden })],
  ])('is judged: %s', async (_, body) => {
    const denied = await plane.send(key, guarded.slug, body);
    expect(denied.body.error.code).toBe(-32446);
    expect(received()).toEqual([]);
  });

  it('passes unchanged when it belongs to the protocol', async () => {
    const _meta = {
      progressToken: 'token',
      'io.modelcontextprotocol/related-task': { taskId: '1' },
    };
    const passed = await plane.send(key, guarded.slug, call({ _meta }));
    expect(passed.body.result).toBeDefined();
    expect(plane.upstream.journal[0]!.body.params._meta).toEqual(_meta);
  });

  it.each([`${card}11111`, `${card}.25`, `0.0000000${card}`, `1${card}000e-3`])(
    'is judged by the digits that are sent: %s',
    async (number) => {
      const text = JSON.stringify(call({ arguments: { n: 0 } })).replace('"n":0', `"n":${number}`);
      expect((await sendText(guarded.slug, text)).body.error.code).toBe(-32446);
      expect(received()).toEqual([]);
    },
  );
});

describe('a header', () => {
  it('is not forwarded under a name that some servers read as one of the protocol', async () => {
    const integration = await plane.addIntegration({
      configurations: { forward_headers: { mode: 'all-except', headers: ['x-other'] } },
    });
    const server = await plane.addServer({}, integration);
    await plane.call(
      key,
      server.slug,
      'tools/call',
      { name: 'echo' },
      {
        headers: {
          mcp_name: 'drop_table',
          Mcp_Session_Id: 'session-1',
          MCP_PROTOCOL_VERSION: modern,
          content_length: '0',
          x_user_claims: '{"sub":"admin"}',
          'x-note': 'kept',
        },
      },
    );
    const { headers } = plane.upstream.journal.at(-1)!;
    expect(headers['x-note']).toBe('kept');
    expect(Object.keys(headers).filter((name) => name.includes('_'))).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['is sent twice', ['mcp-method: tools/call', 'mcp-method: tools/list']],
    ['is sent twice with one value', ['mcp-name: echo', 'Mcp-Name: echo']],
    ['differs in letter case', ['mcp-method: Tools/Call']],
    ['is encoded twice', ['mcp-name: =?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?=']],
    ['is encoded in another alphabet', ['mcp-name: =?Base64?ZWNobw==?=']],
    ['has a quoted value', ['mcp-name: "echo"']],
    ['is encoded as in addresses', ['mcp-name: %65cho']],
  ])('ends the request before the server when it %s', async (_, lines) => {
    using client = new RawClient(plane.server.mcpUrl);
    const params = {
      name: 'echo',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': modern,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const own = ['mcp-method: tools/call', 'mcp-name: echo'].filter(
      (line) => !lines.some((one) => one.toLowerCase().startsWith(line.split(':')[0]!)),
    );
    const head = [
      `POST /${slug}/mcp HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `mcp-protocol-version: ${modern}`,
      `content-length: ${body.length}`,
      ...own,
      ...lines,
    ];
    const sent = await client.sendBytes(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`), 'POST');
    expect(sent.status).toBe(400);
    expect(received()).toEqual([]);
  });

  it('ends the connection where two lengths of the body differ', async () => {
    using client = new RawClient(plane.server.mcpUrl);
    const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}';
    const head = [
      `POST /${slug}/mcp HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      'content-length: 4',
      'transfer-encoding: chunked',
    ];
    const bytes = `${head.join('\r\n')}\r\n\r\n${call.length.toString(16)}\r\n${call}\r\n0\r\n\r\n`;
    expect((await client.sendBytes(Buffer.from(bytes), 'POST')).status).toBe(400);
    expect(received()).toEqual([]);
  });
});

describe('a call by GET', () => {
  it('runs no tool, whatever the query says', async () => {
    const query = 'method=tools/call&name=echo&id=1';
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json' };
    const sent = await exchange(
      'GET',
      `${plane.server.mcpUrl}/${slug}/mcp?${query}`,
      undefined,
      headers,
    );
    expect(sent.status).toBe(406);
    const era = { ...headers, accept: 'text/event-stream', 'mcp-protocol-version': modern };
    const refused = await exchange(
      'GET',
      `${plane.server.mcpUrl}/${slug}/mcp?${query}`,
      undefined,
      era,
    );
    expect(refused.status).toBe(405);
    expect(plane.upstream.journal).toEqual([]);
  });
});

describe('a session of another tenant', () => {
  it('is unknown to all keys of the other, also at a server of the same slug and address', async () => {
    const tenant = await addTenant(plane.server);
    const make = async (path: string, body: object) => {
      const made = await tenant.send('POST', path, { body });
      expect(made).toMatchObject({ status: 200 });
      return made.body;
    };
    const workspace = await make('/v2/workspaces', { name: 'Theirs' });
    const integration = await make('/v2/mcp-integrations', {
      name: 'theirs',
      url: plane.upstream.url,
      auth_type: 'none',
      transport: 'http',
    });
    await make('/v2/mcp-servers', {
      name: 'theirs',
      slug,
      mcp_integration_id: integration.id,
      workspace_id: workspace.id,
    });
    const theirs = await make('/v1/api-keys/workspace/service', {
      name: 'agent',
      scopes: ['mcp.invoke'],
      workspace_id: workspace.id,
    });
    const headers = await plane.openSession(key, slug);
    plane.upstream.journal.length = 0;
    const own = await plane.call(theirs.key, slug, 'tools/list');
    expect(own.status).toBe(200);
    plane.upstream.journal.length = 0;
    for (const [method, sent] of [
      ['POST', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const) {
      const refused = await plane.send(theirs.key, slug, sent, { method, headers });
      expect(refused).toMatchObject({ status: 404, body: { error: { code: -32001 } } });
    }
    expect(plane.upstream.journal).toEqual([]);
  });
});

describe('a cancellation', () => {
  it('ends no call of another caller, of the same id and without a session', async () => {
    const { slug: open } = await plane.addServer();
    const { key: other } = await plane.addKey();
    let isCut = false;
    let finish = (): void => {};
    plane.upstream.script = ({ body }, response) => {
      if (body?.method === 'server/discover') {
        const result = { supportedVersions: [modern], capabilities: {} };
        return sendJson(response, { jsonrpc: '2.0', id: body.id, result });
      }
      if (body?.method !== 'tools/call' || body.params._meta === undefined) {
        const error = { code: -32602, message: 'no _meta' };
        return sendJson(response, { jsonrpc: '2.0', id: body?.id ?? null, error }, 400);
      }
      response.on('close', () => {
        isCut ||= !response.writableEnded;
      });
      finish = () =>
        sendJson(response, {
          jsonrpc: '2.0',
          id: body.id,
          result: { resultType: 'complete', content: [] },
        });
    };
    const calling = plane.call(key, open, 'tools/call', { name: 'echo' }, { id: 7 });
    await eventually(() =>
      expect(plane.upstream.journal.at(-1)?.body?.params?._meta).toBeDefined(),
    );
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 7 },
    };
    expect((await plane.send(other, open, cancelled)).status).toBe(202);
    finish();
    expect((await calling).body).toMatchObject({ id: 7, result: { content: [] } });
    expect(isCut).toBe(false);
    const again = plane
      .call(key, open, 'tools/call', { name: 'echo' }, { id: 7 })
      .catch(() => null);
    await eventually(() => expect(plane.upstream.calls()).toEqual(['echo', 'echo', 'echo']));
    expect((await plane.send(key, open, cancelled)).status).toBe(202);
    await eventually(() => expect(isCut).toBe(true));
    await again;
  });
});

describe('a resource, a cursor or a token of another server', () => {
  it('is passed to the server that is addressed, and never to the other', async () => {
    const other = await plane.addServer(
      {},
      await plane.addIntegration({ url: `${plane.upstream.url}/other` }),
    );
    for (const [method, params] of [
      ['resources/read', { uri: `${plane.upstream.url}/other` }],
      ['tools/list', { cursor: other.id }],
      ['tasks/get', { taskId: other.id }],
      ['tools/call', { name: `${other.slug}/echo`, _meta: { progressToken: other.id } }],
    ] as const) {
      await plane.call(key, slug, method, params);
    }
    expect(new Set(plane.upstream.journal.map(({ url }) => url))).toEqual(new Set(['/mcp']));
  });
});
