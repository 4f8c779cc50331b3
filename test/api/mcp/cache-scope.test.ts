/** Verifies that clients may share a cached list only where every caller of the server receives the same one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagesIn } from '../../support/mcp/open-events.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { addUser } from '../../support/server/people.ts';

let plane: McpTestPlane;
let key: string;

const lists: Readonly<Record<string, object>> = {
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'prompts/list': { prompts: [{ name: 'greet' }] },
  'resources/list': { resources: [{ name: 'readme', uri: 'test://readme' }] },
  'resources/templates/list': {
    resourceTemplates: [{ name: 'notes', uriTemplate: 'note://{id}' }],
  },
};
const methods = Object.keys(lists);
const discovered = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, prompts: {}, resources: {} },
  serverInfo: { name: 'lists', version: '1' },
};
const cached = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.streams = false;
  answerWith((method) => ({ ...cached, ...lists[method] }));
});
afterAll(() => plane[Symbol.asyncDispose]());

/** Sets the results of lists; the server is one of the modern era. */
function answerWith(listOf: (method: string) => object): void {
  plane.upstream.answer = ({ method }) => ({
    result:
      method === 'server/discover' ? { resultType: 'complete', ...discovered } : listOf(method),
  });
}

async function listed(slug: string, method = 'tools/list') {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = { 'mcp-protocol-version': version, 'mcp-method': method };
  const { status, body } = await plane.call(key, slug, method, { _meta }, { headers });
  expect(status).toBe(200);
  const message = plane.upstream.streams ? messagesIn(String(body))[0]! : body;
  return message.result;
}

const tool = (name: string) => ({ type: 'tool', name });
/** Fields of a server, and of its integration. */
const rules: readonly [string, (user: string) => readonly [object, object?]][] = [
  ['one user may not use it', (user) => [{ user_access: [{ user_id: user, enabled: false }] }]],
  ['one user may use it', (user) => [{ user_access: [{ user_id: user, enabled: true }] }]],
  ['the server disables a tool', () => [{ disabled_capabilities: [tool('drop_table')] }]],
  ['the integration does', () => [{}, { disabled_capabilities: [tool('drop_table')] }]],
  [
    'definitions must be approved',
    () => [{ definition_policy: 'hide' }, { approved_definitions: [] }],
  ],
  ['headers of callers reach it', () => [{}, { configurations: { forward_headers: ['x-team'] } }]],
  [
    'it learns who calls',
    () => [{}, { configurations: { user_identity_forwarding: { method: 'claims_header' } } }],
  ],
];

describe('a list that a server calls public', () => {
  it.each(methods)('stays public where all callers receive the same %s', async (method) => {
    const { slug } = await plane.addServer();
    expect(await listed(slug, method)).toEqual({ ...cached, ...lists[method] });
  });

  it.each(rules)('is private when %s, in JSON and in streams', async (_, fieldsFor) => {
    const [fields, more] = fieldsFor(await addUser(plane.server));
    const { slug } = await plane.addServer(fields, await plane.addIntegration(more));
    for (const streams of [false, true]) {
      plane.upstream.streams = streams;
      for (const method of methods) {
        const { cacheScope, ttlMs } = await listed(slug, method);
        expect({ method, cacheScope, ttlMs }).toEqual({
          method,
          cacheScope: 'private',
          ttlMs: 60_000,
        });
      }
    }
  });

  it('is private at any length, and is otherwise unchanged', async () => {
    const description = 'x'.repeat(200_000);
    const tools = [{ name: 'echo', description, inputSchema: { type: 'object' } }];
    answerWith(() => ({ ...cached, tools }));
    const user = await addUser(plane.server);
    const { slug } = await plane.addServer({ user_access: [{ user_id: user, enabled: false }] });
    expect(await listed(slug)).toEqual({ ...cached, tools, cacheScope: 'private' });
  });

  it('becomes private within a second when the access of a user is set', async () => {
    const { id, slug } = await plane.addServer();
    const user = await addUser(plane.server);
    const setAccess = async (user_access: readonly object[]) => {
      const path = `/v2/mcp-servers/${id}/user-access`;
      const { status } = await plane.server.request('PUT', path, { body: { user_access } });
      expect(status).toBe(200);
    };
    expect(await listed(slug)).toMatchObject({ cacheScope: 'public' });
    await setAccess([{ user_id: user, enabled: false }]);
    await eventually(async () =>
      expect(await listed(slug)).toMatchObject({ cacheScope: 'private' }),
    );
  });

  it('gets no scope that the server has not stated', async () => {
    answerWith((method) => lists[method]!);
    const { slug } = await plane.addServer({ disabled_capabilities: [tool('drop_table')] });
    expect(await listed(slug)).toEqual(lists['tools/list']);
  });
});
