/** Verifies calls of modern clients that wait for input at a legacy server: sealed states, replicas, and ends of either side. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import type { McpFixture } from '../../support/mcp/fixture-host.ts';
import { startLegacyFixture } from '../../support/mcp/legacy-fixture.ts';
import {
  acceptAs as accept,
  askingTool as asking,
  ModernCaller,
} from '../../support/mcp/modern-caller.ts';
import { openEvents } from '../../support/mcp/open-events.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let fixture: McpFixture;
let dying: McpFixture;
let key: string;
let slug: string;
let client: ModernCaller;
const text = ({ message }: { message: ReturnType<typeof JSON.parse> }) =>
  message.result.content[0].text;

beforeAll(async () => {
  fixture = await startLegacyFixture();
  dying = await startLegacyFixture();
  const hosts = [fixture, dying].map(({ url }) => new URL(url).host);
  plane = await startMcpTestPlane({}, hosts.join(','));
  ({ key } = await plane.addKey());
});
beforeEach(async () => {
  ({ slug } = await plane.addServer({}, await plane.addIntegration({ url: fixture.url })));
  client = new ModernCaller(plane, key, slug);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

/** Starts a second replica with the database of the plane. */
async function startReplica() {
  const log = createLog({ level: 'silent' });
  const replica = openApp(plane.server.settings, {
    log,
    components: ['mcp'],
    clock: plane.server.clock,
  });
  await replica.connect();
  const { mcpUrl } = await replica.listen();
  return { replica, url: String(mcpUrl) };
}

const methods = (from: number, source: McpFixture = fixture) =>
  source.journal
    .slice(from)
    .map(({ httpMethod, body }) => (body as { method?: string } | null)?.method ?? httpMethod);

describe('a call that waits for input', () => {
  it('continues with the answers, and asks again for those that are missing', async () => {
    const first = await client.callTool(asking);
    expect(first.message.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { user_name: { method: 'elicitation/create' } },
    });
    const wrong = await client.answer(asking, first, () => 'no answer');
    expect(wrong.message.result.inputRequests).toEqual(first.message.result.inputRequests);
    expect(wrong.message.result.requestState).not.toBe(first.message.result.requestState);
    expect(text(await client.answer(asking, wrong, accept('Alice')))).toBe('Hello, Alice!');
  });

  it('puts the questions of a server that asks several at once into one result', async () => {
    const tool = 'test_input_required_result_multiple_inputs';
    const first = await client.callTool(tool);
    const questions = Object.values<{ method: string }>(first.message.result.inputRequests);
    expect(questions.map(({ method }) => method).toSorted()).toEqual([
      'elicitation/create',
      'roots/list',
      'sampling/createMessage',
    ]);
    const answers: Record<string, object> = {
      'elicitation/create': { action: 'accept', content: { name: 'Alice' } },
      'roots/list': { roots: [{ uri: 'file:///a' }] },
      'sampling/createMessage': {
        role: 'assistant',
        content: { type: 'text', text: 'Welcome' },
        model: 'test',
      },
    };
    const done = await client.answer(tool, first, ({ method }) => answers[method]);
    expect(text(done)).toBe('Welcome, Alice! Roots: file:///a');
  });

  it('refuses every state that is not its own with one error, and the server sees nothing', async () => {
    const first = await client.callTool(asking);
    const { requestState: state } = first.message.result;
    const inputResponses = { user_name: accept('Alice')() };
    const other = await plane.addKey({ name: 'other key' });
    // The last character has bits that decoding ignores.
    const flipped = `${state.slice(0, -2)}${state.at(-2) === 'A' ? 'B' : 'A'}${state.at(-1)}`;
    const from = fixture.journal.length;
    const refusals = [
      await client.callTool(asking, { inputResponses, requestState: flipped }),
      await client.callTool(asking, { inputResponses, requestState: 'never issued' }),
      await client.callTool(asking, { inputResponses, requestState: state }, { key: other.key }),
      await client.callTool(asking, {
        inputResponses,
        requestState: state,
        arguments: { other: true },
      }),
      await client.callTool('test_simple_text', { inputResponses, requestState: state }),
    ];
    expect(text(await client.answer(asking, first, accept('Alice')))).toBe('Hello, Alice!');
    refusals.push(await client.answer(asking, first, accept('Alice')));
    const late = await client.callTool(asking);
    plane.server.clock.advance(600_000);
    refusals.push(await client.answer(asking, late, accept('Alice')));
    const errors = refusals.map(({ status, message: { error } }) => ({ status, error }));
    expect(new Set(errors.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(errors[0]).toMatchObject({
      status: 200,
      error: { code: -32602, data: { code: 'request_state_invalid' } },
    });
    // Two calls, and the answer to one of them.
    const reached = methods(from).filter((one) => one === 'tools/call' || one === 'POST');
    expect(reached).toEqual(['POST', 'tools/call']);
  });

  it('continues at the replica that holds it when another replica receives the answers', async () => {
    const { replica, url } = await startReplica();
    await using _ = replica;
    const here = await client.callTool(asking);
    expect(text(await client.answer(asking, here, accept('Alice'), { url }))).toBe('Hello, Alice!');
    const there = await client.callTool(asking, {}, { url });
    expect(text(await client.answer(asking, there, accept('Bob')))).toBe('Hello, Bob!');
  });

  it('ends with its replica, and leaves no session at the server', async () => {
    const from = fixture.journal.length;
    const { replica, url } = await startReplica();
    const first = await client.callTool(asking, {}, { url });
    await replica[Symbol.asyncDispose]();
    expect(methods(from)).toContain('notifications/cancelled');
    expect(methods(from).at(-1)).toBe('DELETE');
    const late = await client.answer(asking, first, accept('Alice'));
    expect(late.message.error.data.code).toBe('request_state_invalid');
    expect(text(await client.answer(asking, await client.callTool(asking), accept('Al')))).toBe(
      'Hello, Al!',
    );
  });

  it('ends with an error when the server has died meanwhile', async () => {
    const integration = await plane.addIntegration({ url: dying.url });
    const server = await plane.addServer({}, integration);
    const other = new ModernCaller(plane, key, server.slug);
    const first = await other.callTool(asking);
    await dying[Symbol.asyncDispose]();
    const late = await other.answer(asking, first, accept('Alice'));
    expect(late).toMatchObject({
      status: 502,
      message: { error: { data: { code: 'server_unusable' } } },
    });
    expect((await other.answer(asking, first, accept('Alice'))).message.error.code).toBe(-32602);
  });

  it('is refused with 503 when the caller has too many of them', async () => {
    const { key: greedy } = await plane.addKey({ name: 'greedy' });
    const calls = Array.from({ length: 65 }, () => client.callTool(asking, {}, { key: greedy }));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(64);
    expect(statuses.filter((status) => status === 503)).toHaveLength(1);
    expect((await client.callTool(asking)).message.result.resultType).toBe('input_required');
  });
});

describe('a subscription of a modern client', () => {
  async function listen(server: string, notifications: object, sent = key) {
    const { body, headers } = client.request(
      'subscriptions/listen',
      { notifications },
      { id: 'mine' },
    );
    const url = `${plane.server.mcpUrl}/${server}/mcp`;
    return await openEvents(url, { key: sent, body, headers });
  }

  it('delivers the notices that it names, tagged with its id, and ends its session', async () => {
    const from = fixture.journal.length;
    const stream = await listen(slug, {
      promptsListChanged: true,
      resourceSubscriptions: ['test://watched-resource'],
    });
    await eventually(() => expect(stream.messages).toHaveLength(1));
    await client.callTool('test_trigger_tool_change');
    await client.callTool('test_trigger_resource_update');
    await client.callTool('test_trigger_prompt_change');
    await eventually(() => expect(stream.messages).toHaveLength(3));
    expect(stream.messages.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/resources/updated',
      'notifications/prompts/list_changed',
    ]);
    const tagged = { params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } } };
    for (const message of stream.messages) expect(message).toMatchObject(tagged);
    expect(methods(from)).toContain('resources/subscribe');
    await stream[Symbol.asyncDispose]();
    await eventually(() => expect(methods(from)).toContain('DELETE'));
  });

  it('reports an edit of the allow-list, and ends with its key by a result', async () => {
    const integration = await plane.addIntegration({ url: fixture.url });
    const server = await plane.addServer({}, integration);
    const own = await plane.addKey({ name: 'listener' });
    await using stream = await listen(server.slug, { toolsListChanged: true }, own.key);
    await eventually(() => expect(stream.messages).toHaveLength(1));
    const edited = await plane.server.request('PUT', `/v2/mcp-servers/${server.id}/capabilities`, {
      body: { capabilities: [{ name: 'test_simple_text', type: 'tool', enabled: false }] },
    });
    expect(edited.status).toBe(200);
    await eventually(() => stream.find('notifications/tools/list_changed'));
    const gone = await plane.server.request('DELETE', `/v1/api-keys/${own.id}`);
    expect(gone.status).toBe(200);
    await eventually(() => expect(stream.isEnded).toBe(true));
    expect(stream.messages.at(-1)).toMatchObject({
      id: 'mine',
      result: {
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' },
      },
    });
  });
});
