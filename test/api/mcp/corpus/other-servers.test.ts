/** Verifies that servers do not reach into each other by names or addresses; the journals of both and of a trap are the witness. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../../support/server/mcp-plane.ts';
import { type McpJournal, startMcpJournal } from '../../../support/upstream/mcp-journal.ts';

let plane: McpTestPlane;
/** A server that the gateway may call by address, and that nobody configures. */
let trap: McpJournal;
let key: string;

beforeAll(async () => {
  trap = await startMcpJournal();
  plane = await startMcpTestPlane({}, trap.host);
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  trap.journal.length = 0;
  plane.upstream.answer = null;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await trap[Symbol.asyncDispose]();
});

describe('a tool of one name on two servers', () => {
  it('has the rules of its own server: allow-list, guardrail and limit', async () => {
    const tool = { type: 'tool', name: 'echo' };
    const closed = await plane.addServer(
      {},
      await plane.addIntegration({ disabled_capabilities: [tool] }),
    );
    const guarded = await plane.addServer();
    const limited = await plane.addServer();
    const open = await plane.addServer();
    await plane.guard(guarded, [
      { id: 'default.contains', parameters: { words: ['mellon'], operator: 'none' } },
    ]);
    await plane.create('/v2/policies/rate-limits', {
      name: 'one call',
      target: 'mcp_tools',
      type: 'requests',
      unit: 'rpd',
      value: 1,
      workspace_id: plane.workspace.id,
      conditions: [{ key: 'mcp_tool', value: `${limited.slug}/echo` }],
      group_by: [{ key: 'api_key' }],
    });
    const call = async ({ slug }: CreatedResource) => {
      const params = { name: 'echo', arguments: { text: 'mellon' } };
      const { status, body } = await plane.call(key, slug, 'tools/call', params);
      return [status, body.error?.code ?? null];
    };
    expect(await call(closed)).toEqual([200, -32602]);
    expect(await call(guarded)).toEqual([200, -32446]);
    expect(await call(limited)).toEqual([200, null]);
    expect(await call(limited)).toEqual([429, -32000]);
    expect(await call(open)).toEqual([200, null]);
    expect(plane.upstream.calls()).toEqual(['echo', 'echo']);
  });
});

describe('an address in a definition or a result', () => {
  it('is never called: references, icons, identifiers of schemas, links and resources', async () => {
    const at = (path: string): string => trap.url.replace('/mcp', path);
    const tool = {
      name: 'echo',
      icons: [{ src: at('/icon.png') }],
      inputSchema: {
        $id: at('/schema'),
        $schema: at('/dialect'),
        type: 'object',
        properties: { a: { $ref: at('/ref.json') }, b: { $dynamicRef: at('/dynamic.json') } },
      },
      outputSchema: { $ref: at('/output.json') },
    };
    plane.upstream.answer = ({ method }) => {
      if (method === 'tools/list') return { result: { tools: [tool] } };
      if (method !== 'tools/call') return null;
      const link = { type: 'resource_link', name: 'link', uri: at('/link') };
      const resource = { type: 'resource', resource: { uri: at('/resource'), text: 'x' } };
      return { result: { content: [link, resource], structuredContent: { $ref: at('/result') } } };
    };
    const integration = await plane.addIntegration({ definition_policy: 'block' });
    await plane.sync(integration);
    const { slug } = await plane.addServer({}, integration);
    const listed = await plane.call(key, slug, 'tools/list');
    expect(listed.body.result.tools).toEqual([tool]);
    const called = await plane.call(key, slug, 'tools/call', { name: 'echo' });
    expect(called.body.result.content).toHaveLength(2);
    expect(trap.journal).toEqual([]);
  });
});
