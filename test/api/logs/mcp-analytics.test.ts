/** Verifies analytics of MCP calls: counters beside those of models, groups by server and tool, and errors with status 200. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { logIsWritten } from '../../support/server/request-log.ts';

let plane: McpTestPlane;
let slug: string;
let place: string;

const tools = ['echo', 'add', 'quote', 'drop_table'].map((name) => ({ name }));

/** Answers every call alike, and lists the tools. */
const answerCalls =
  (answer: object) =>
  ({ method }: { readonly method: string }): object =>
    method === 'tools/list' ? { result: { tools } } : answer;

beforeAll(async () => {
  plane = await startMcpTestPlane();
  const { server, upstream, workspace } = plane;
  place = `workspace_id=${workspace.id}`;
  const { key } = await plane.addKey();
  const disabled_capabilities = [{ type: 'tool', name: 'drop_table' }];
  ({ slug } = await plane.addServer({ disabled_capabilities }));
  const open = await plane.addServer();
  const call = (name: string, at = slug) => plane.call(key, at, 'tools/call', { name });
  await call('echo');
  await call('echo', open.slug);
  await call('drop_table');
  await plane.call(key, slug, 'prompts/get', { name: 'greet' });
  // The response of a restricted server is read, that of the other one passes unread.
  for (const at of [slug, open.slug]) {
    upstream.answer = answerCalls({ result: { content: [], isError: true } });
    await call('add', at);
    upstream.streams = true;
    await call('add', at);
    upstream.streams = false;
    upstream.answer = answerCalls({ error: { code: -32000, message: 'no' } });
    await call('add', at);
    upstream.answer = answerCalls({
      result: { content: [{ type: 'text', text: '"isError":true' }] },
    });
    await call('quote', at);
  }
  await logIsWritten(server);
  const log = new RequestLog({ database: server.database, onLoss: () => {} });
  const startedAt = server.clock.now() - 1_000;
  const model = { startedAt, workspaceId: workspace.id, cacheStatus: 'HIT' };
  log.record(requestRecord(server.organisationId, model));
  log.record(requestRecord(server.organisationId, { ...model, status: 500 }));
  await log.close(60_000);
});
afterAll(() => plane[Symbol.asyncDispose]());

async function read(path: string): Promise<ReturnType<typeof JSON.parse>> {
  const { status, body } = await plane.server.request('GET', path);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const split = {
  llm_count: 2,
  mcp_count: 12,
  a2a_count: 0,
  llm_error_count: 1,
  mcp_error_count: 7,
  a2a_error_count: 0,
};

describe('analytics of MCP calls', () => {
  it('counts them in figures of their own, from the totals as from the log (1.24.0)', async () => {
    for (const filter of ['', '&cost_min=0']) {
      const summary = await read(`/v1/analytics/summary?${place}${filter}`);
      expect(summary, filter).toMatchObject({ requests: 14, errors: 8, cache_hits: 2, ...split });
      const counts = await read(`/v1/analytics/graphs/requests?${place}${filter}`);
      expect(counts.summary).toMatchObject({ total: 14, failed: 8, llm_count: 2, mcp_count: 12 });
      const errors = await read(`/v1/analytics/graphs/errors?${place}${filter}`);
      expect(errors.summary).toMatchObject({ total: 8, llm_error_count: 1, mcp_error_count: 7 });
      const cached = await read(`/v1/analytics/graphs/cache-hit-rate?${place}${filter}`);
      expect(cached.summary).toMatchObject({ rate: 100, total_misses: 0 });
    }
    const chart = await read(`/v2/logs/charts/requests?workspaceSlug=${plane.workspace.slug}`);
    expect(chart.data).toMatchObject({ total: 14, total_llm_count: 2, total_mcp_count: 12 });
  });

  it('groups them by server and by tool, the most used first (1.27.0)', async () => {
    for (const name of ['mcp_server', 'mcp-servers']) {
      const { data, total } = await read(`/v1/analytics/groups/${name}?${place}`);
      expect(total).toBe(2);
      expect(data[0]).toMatchObject({ mcp_server: slug, requests: 7, error_count: 4 });
      expect(data[1]).toMatchObject({ requests: 5, error_count: 3, success_rate: 40 });
    }
    for (const path of [
      `/v1/analytics/groups/mcp_tool?${place}`,
      `/v2/logs/groups/mcp-tools?workspaceSlug=${plane.workspace.slug}&columns=error_count`,
    ]) {
      const { data, total } = await read(path);
      expect(total).toBe(7);
      const counts = data
        .filter((row: { mcp_tool: string }) => row.mcp_tool.startsWith(`${slug}/`))
        .map((row: Record<string, unknown>) => [row.mcp_tool, row.requests, row.error_count]);
      expect(counts).toEqual([
        [`${slug}/add`, 3, 3],
        [`${slug}/drop_table`, 1, 1],
        [`${slug}/echo`, 1, 0],
        [`${slug}/quote`, 1, 0],
      ]);
    }
  });

  it('leaves them out of groups of models, and counts them for their key', async () => {
    const models = await read(`/v1/analytics/groups/model?${place}`);
    expect(models.data).toMatchObject([{ model: 'gpt-4o', requests: 2 }]);
    const own = await read(`/v1/analytics/groups/providers?${place}`);
    expect(own.data).toMatchObject([{ value: 'openai', requests: 2, mcp_count: 0 }]);
    const keys = await read(`/v1/analytics/groups/api-keys?${place}`);
    expect(keys.data).toContainEqual(expect.objectContaining({ requests: 12, mcp_count: 12 }));
  });

  it('shows the error of the server in the log', async () => {
    const { data } = await read(`/admin/v2/logs?${place}&mcp_server=${slug}`);
    const codes = data.map((row: Record<string, unknown>) => row.error_code).sort();
    expect(codes).toEqual(
      [null, null, 'server_error', 'tool_error', 'tool_error', 'unknown_capability', null].sort(),
    );
    const rows = await read(`/v2/logs?workspaceSlug=${plane.workspace.slug}`);
    expect(JSON.stringify(rows).match(/"is_success":1/g)).toHaveLength(6);
  });
});
