/** Verifies that unknown, disabled and foreign servers and tools cost the same work, so that their times tell nothing. */
import { Connection } from 'mysql2';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../../support/server/mcp-plane.ts';
import type { McpJournal } from '../../../support/upstream/mcp-journal.ts';

let plane: McpTestPlane;
let key: string;
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  Object.assign(plane.upstream, { answer: null, script: null });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => plane[Symbol.asyncDispose]());

/** Tables of servers that are read, in order. */
function watchStatements(): string[] {
  const statements: string[] = [];
  const send = Connection.prototype.query;
  vi.spyOn(Connection.prototype, 'query').mockImplementation(function (this: unknown, ...given) {
    const [query] = given as unknown as [{ sql: string } | string];
    const sql = (typeof query === 'string' ? query : query.sql).replaceAll('`', '');
    const table = /\bfrom (mcp_\w+)/.exec(sql)?.[1];
    if (table !== undefined) statements.push(table);
    return Reflect.apply(send, this, given);
  });
  return statements;
}

describe('a server that a caller may not use', () => {
  it('costs the same statements, each time, whether it is unknown, foreign, archived or not granted', async () => {
    const sales = await plane.create('/v2/workspaces', { name: 'Sales' });
    const foreign = await plane.addServer({ workspace_id: sales.id });
    const used = await plane.addKey({ workspace_id: sales.id });
    const closed = await plane.addIntegration();
    const ungranted = await plane.addServer({}, closed);
    const put = await plane.server.request('PUT', `/v2/mcp-integrations/${closed.id}/workspaces`, {
      body: { workspaces: [{ id: plane.workspace.id, enabled: false }] },
    });
    expect(put.status).toBe(200);
    // Its own callers use the foreign server, so that it is cached for them.
    expect((await plane.send(used.key, foreign.slug, list)).status).toBe(200);
    plane.upstream.journal.length = 0;
    const statements = watchStatements();
    const costs: string[][] = [];
    for (const slug of ['nothing', foreign.slug, ungranted.slug, foreign.id]) {
      for (const _ of ['first', 'again']) {
        statements.length = 0;
        const refused = await plane.send(key, slug, list);
        expect(refused).toMatchObject({
          status: 404,
          body: {
            error: {
              message:
                'No MCP server that this credential may use has the slug of this address, /{slug}/mcp',
            },
          },
        });
        costs.push([...statements]);
      }
    }
    const cost = ['mcp_servers', 'mcp_integrations', 'mcp_integration_workspaces'];
    expect(costs).toEqual(Array.from({ length: 8 }, () => cost));
    expect(plane.upstream.journal).toEqual([]);
  });
});

describe('a tool or prompt that a caller may not use', () => {
  let synced: CreatedResource;
  let unsynced: CreatedResource;
  /** Has a tool that no other server has. */
  let other: CreatedResource;

  beforeAll(async () => {
    const disabled_capabilities = [
      { type: 'tool', name: 'drop_table' },
      { type: 'prompt', name: 'leak' },
    ];
    const integration = await plane.addIntegration({ disabled_capabilities });
    await plane.sync(integration);
    synced = await plane.addServer({}, integration);
    unsynced = await plane.addServer({}, await plane.addIntegration({ disabled_capabilities }));
    const theirs = await plane.addIntegration();
    await plane.sync(theirs, [{ name: 'foreign_tool', type: 'tool' }]);
    other = await plane.addServer({}, theirs);
  });

  const work = ({ journal }: McpJournal) => journal.map(({ body }) => body.method);

  it.each([
    ['tools/call', ['drop_table', 'Drop_Table', 'no_such', 'foreign_tool']],
    ['prompts/get', ['leak', 'LEAK', 'no_such', 'foreign_tool']],
  ])('costs one list and no call, each time, by %s', async (method, names) => {
    for (const { slug } of [synced, unsynced]) {
      const seen = new Set<string>();
      for (const name of [...names, ...names]) {
        plane.upstream.journal.length = 0;
        const { status, body } = await plane.call(key, slug, method, { name });
        const { error } = body;
        seen.add(
          JSON.stringify({
            status,
            code: error.code,
            data: error.data ?? null,
            text: error.message.replace(name, 'NAME'),
            work: work(plane.upstream),
          }),
        );
      }
      expect([...seen]).toEqual([
        JSON.stringify({
          status: 200,
          code: -32602,
          data: null,
          text: `Unknown ${method === 'tools/call' ? 'tool' : 'prompt'}: NAME`,
          work: [method === 'tools/call' ? 'tools/list' : 'prompts/list'],
        }),
      ]);
    }
    expect(other.slug).not.toBe(synced.slug);
  });

  it('fails alike while the server lists nothing', async () => {
    plane.upstream.answer = ({ method }) =>
      method === 'tools/list' ? { error: { code: -32603, message: 'later' } } : null;
    const answers = [];
    for (const name of ['drop_table', 'no_such']) {
      const { status, body } = await plane.call(key, synced.slug, 'tools/call', { name });
      answers.push({ status, body });
    }
    expect(answers[0]).toMatchObject({ body: { error: { data: { code: 'server_unusable' } } } });
    expect(answers[1]).toEqual(answers[0]);
    expect(plane.upstream.calls()).toEqual([]);
  });

  it('is not looked up when it is known to be usable, by a sync or an earlier list', async () => {
    for (const { slug } of [synced, unsynced]) {
      await plane.call(key, slug, 'tools/call', { name: 'add' });
      plane.upstream.journal.length = 0;
      const called = await plane.call(key, slug, 'tools/call', { name: 'echo' });
      expect(called.body.result).toBeDefined();
      expect(work(plane.upstream)).toEqual(['tools/call']);
    }
  });

  it('does not count under limits, whatever the reason', async () => {
    const { slug } = synced;
    await plane.create('/v2/policies/rate-limits', {
      name: 'calls',
      target: 'mcp_tools',
      type: 'requests',
      unit: 'rpd',
      value: 1,
      workspace_id: plane.workspace.id,
      conditions: [{ key: 'mcp_server', value: slug }],
      group_by: [{ key: 'api_key' }],
    });
    const own = await plane.addKey();
    for (const name of ['drop_table', 'no_such', 'drop_table', 'no_such']) {
      const refused = await plane.call(own.key, slug, 'tools/call', { name });
      expect(refused.body.error.code).toBe(-32602);
    }
    expect((await plane.call(own.key, slug, 'tools/call', { name: 'echo' })).status).toBe(200);
    expect((await plane.call(own.key, slug, 'tools/call', { name: 'echo' })).status).toBe(429);
  });
});
