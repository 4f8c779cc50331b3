/** Tests what is left of MCP calls and streams when their gateway is killed: clients go on at another one, and limits hold. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openResponse } from '../support/mcp/event-client.ts';
import type { McpFixture } from '../support/mcp/fixture-host.ts';
import { startLegacyFixture } from '../support/mcp/legacy-fixture.ts';
import { ModernCaller } from '../support/mcp/modern-caller.ts';
import { startModernFixture } from '../support/mcp/modern-fixture.ts';
import { openEvents } from '../support/mcp/open-events.ts';
import { eventually } from '../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';
import { newMasterKeys } from './gateway-processes.ts';
import { type Replicas, startReplicas } from './mcp-replicas.ts';
import { numbersOf } from './plan.ts';
import { newSeed } from './run-gate.ts';

const stack = new AsyncDisposableStack();
let plane: McpTestPlane;
let legacy: McpFixture;
let modern: McpFixture;
let replicas: Replicas;
let key: string;

beforeAll(async () => {
  legacy = stack.use(await startLegacyFixture());
  modern = stack.use(await startModernFixture());
  const hosts = [legacy, modern].map(({ url }) => new URL(url).host).join(',');
  plane = stack.use(await startMcpTestPlane({ masterKeys: newMasterKeys() }, hosts));
  plane.server.clock.set(Date.now());
  replicas = stack.use(await startReplicas(plane, numbersOf(newSeed()), hosts));
  ({ key } = await plane.addKey());
});
afterAll(() => stack.disposeAsync());

const urlOf = (at: number): string => replicas.processes[at]!.mcpUrl!;

async function addServer(url: string): Promise<string> {
  return (await plane.addServer({}, await plane.addIntegration({ url }))).slug;
}

/** Kills a gateway, and starts another in its place when the work is done. */
async function withoutGateway(at: number, work: () => Promise<void>): Promise<void> {
  await replicas.kill(at);
  try {
    await work();
  } finally {
    await replicas.start(at);
  }
}

describe('a call that waits for input in a gateway that is killed', () => {
  const tool = 'test_input_required_result_elicitation';
  const accept = (name: string) => () => ({ action: 'accept', content: { name } });

  it('is refused to a modern client of a legacy server, who calls again at another one', async () => {
    const caller = new ModernCaller(plane, key, await addServer(legacy.url));
    const first = await caller.callTool(tool, {}, { url: urlOf(0) });
    expect(first.message.result.resultType).toBe('input_required');
    await withoutGateway(0, async () => {
      const late = await caller.answer(tool, first, accept('Ada'), { url: urlOf(1) });
      expect(late.message).toMatchObject({
        error: { data: { code: 'request_state_invalid' } },
      });
      const again = await caller.callTool(tool, {}, { url: urlOf(1) });
      const done = await caller.answer(tool, again, accept('Ada'), { url: urlOf(2) });
      expect(done.message.result.content[0].text).toBe('Hello, Ada!');
    });
  });

  it('is asked again of a legacy client of a modern server, whose session goes on', async () => {
    const slug = await addServer(modern.url);
    const capabilities = { elicitation: {} };
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'a' } };
    const opened = await plane.call(key, slug, 'initialize', params, { url: urlOf(0) });
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const send = (at: number, body: object) =>
      openResponse(`${urlOf(at)}/${slug}/mcp`, key, body, headers);
    const call = {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'test_elicitation', arguments: { message: 'Who are you?' } },
    };
    const accepted = { action: 'accept', content: { username: 'u', email: 'e' } };
    await using first = await send(0, call);
    const question = await first.next();
    expect(question.method).toBe('elicitation/create');
    await withoutGateway(0, async () => {
      await expect(first.next()).rejects.toThrow();
      // The answer to the lost call changes nothing.
      await using late = await send(1, { jsonrpc: '2.0', id: question.id, result: accepted });
      expect(late.status).toBe(202);
      await using again = await send(1, call);
      const { id } = await again.next();
      await using answered = await send(2, { jsonrpc: '2.0', id, result: accepted });
      expect(answered.status).toBe(202);
      expect(await again.next()).toMatchObject({
        id: 7,
        result: { content: [{ text: `User response: ${JSON.stringify(accepted)}` }] },
      });
    });
  });
});

describe('a stream that is open in a gateway that is killed', () => {
  it('ends, and is resumed at another one in the same session', async () => {
    const { slug } = await plane.addServer();
    const opened = await plane.call(key, slug, 'initialize', {}, { url: urlOf(0) });
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const openAt = (at: number, more: Record<string, string> = {}) =>
      openEvents(`${urlOf(at)}/${slug}/mcp`, { key, headers: { ...headers, ...more } });
    await using first = await openAt(0);
    const notice = (data: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data },
    });
    await eventually(() => expect(plane.upstream.openStreams()).toBe(1));
    plane.upstream.push(notice('before'));
    await eventually(() => expect(first.text).toContain('before'));
    await withoutGateway(0, async () => {
      await eventually(() => expect(first.isEnded).toBe(true));
      await eventually(() => expect(plane.upstream.openStreams()).toBe(0));
      await using next = await openAt(1, { 'last-event-id': 'event-1' });
      await eventually(() => expect(plane.upstream.openStreams()).toBe(1));
      plane.upstream.push(notice('after'));
      await eventually(() => expect(next.text).toContain('after'));
      const [before, after] = plane.upstream.journal.filter(({ method }) => method === 'GET');
      expect(after!.headers['last-event-id']).toBe('event-1');
      expect(after!.headers['mcp-session-id']).toBe(before!.headers['mcp-session-id']);
    });
  });
});

describe('a call between its reservation and its charge in a gateway that is killed', () => {
  const limit = 10;

  it('stays counted, so that the others never send more than the limit', async () => {
    const { slug } = await plane.addServer();
    await plane.create('/v2/policies/rate-limits', {
      name: `calls of ${slug}`,
      target: 'mcp_tools',
      type: 'requests',
      unit: 'rpd',
      value: limit,
      workspace_id: plane.workspace.id,
      conditions: [{ key: 'mcp_server', value: slug }],
      group_by: [{ key: 'api_key' }],
    });
    const { journal } = plane.upstream;
    journal.length = 0;
    let isSilent = true;
    plane.upstream.script = ({ body }, response) => {
      if (isSilent) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { content: [] } }));
    };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
    const waiting = Array.from({ length: 4 }, () => replicas.send(key, slug, call, { at: 0 }));
    await eventually(() => expect(journal).toHaveLength(4));
    await withoutGateway(0, async () => {
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([0, 0, 0, 0]);
      isSilent = false;
      const statuses: number[] = [];
      for (let at = 0; statuses.filter((status) => status === 429).length < 4; at += 1) {
        statuses.push((await replicas.send(key, slug, call, { at: 1 + (at % 2) })).status);
      }
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(journal.length).toBeLessThanOrEqual(limit);
      expect(journal.length).toBe(4 + statuses.filter((status) => status === 200).length);
    });
    // The gateway that takes its place holds to the limit too.
    const late = await replicas.send(key, slug, call, { at: 0 });
    expect(late.status).toBe(429);
    expect(journal.length).toBeLessThanOrEqual(limit);
    plane.upstream.script = null;
  });
});
