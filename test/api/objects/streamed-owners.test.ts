/**
 * Verifies that an object named by a stream belongs to its caller from that event on, however the
 * stream ends.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  type AnthropicTenant,
  type SharedAccount,
  startKeeper,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import type { TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;
let ours: Tenant;
let theirs: Tenant;
let claude: AnthropicTenant;
const { objects: stored, script } = startKeeper();
const notFound = { status: 404 };

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  ours = await shared.tenant('ours');
  theirs = await shared.tenant('theirs');
  claude = await shared.anthropicTenant('claude');
});

/** Sends these events, and ends on demand. */
const streamOf =
  (events: readonly object[], ended: Promise<void>): TestUpstream['script'] =>
  async (request, response) => {
    if (request.body.length === 0) return script(request, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    await ended;
    response.end();
  };

afterEach(() => {
  upstream.script = script;
  upstream.reached.length = 0;
});

afterAll(() => shared[Symbol.asyncDispose]());

it('belongs to its caller as soon as it is named, also when the caller disconnects afterwards', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const response = { id: 'resp-1', object: 'response', output: [] };
  const code = { type: 'code_interpreter_call', id: 'ci-1', container_id: 'cntr-1' };
  const shell = { type: 'shell_call', id: 'sh-1', environment: { container_id: 'cntr-2' } };
  const events = [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: code },
    { type: 'response.output_text.delta', delta: '"response.output_item.added"', item_id: 'x' },
    { type: 'response.output_item.done', output_index: 1, item: shell },
  ];
  for (const id of ['cntr-1', 'cntr-2', 'resp-1']) stored.set(id, { id });
  upstream.script = streamOf(events, promise);
  const leaving = new AbortController();
  const { signal } = leaving;
  const stream = await ours.client.responses.create(
    { model: 'm', input: 'x', stream: true },
    { signal },
  );
  const reported = stream[Symbol.asyncIterator]();
  for (const event of events) expect((await reported.next()).value).toMatchObject(event);
  const { containers, responses } = ours.client;
  expect((await containers.retrieve('cntr-1')).id).toBe('cntr-1');
  const { closed } = upstream.reached[0]!;
  leaving.abort();
  await closed;
  resolve();
  upstream.script = script;
  expect((await containers.retrieve('cntr-2')).id).toBe('cntr-2');
  expect((await responses.retrieve('resp-1')).id).toBe('resp-1');
  const input = ['ci-1', 'sh-1'].map((id) => ({ type: 'item_reference' as const, id }));
  await responses.create({ model: 'm', input });
  const foreign = [
    theirs.client.containers.retrieve('cntr-2'),
    theirs.client.responses.create({ model: 'm', input }),
    theirs.client.responses.retrieve('resp-1'),
  ];
  await Promise.all(foreign.map((one) => expect(one).rejects.toMatchObject(notFound)));
});

it('belongs to its caller for stored chats and for messages that run code', async () => {
  const choices = [{ index: 0, delta: { content: 'x', audio: { id: 'audio-of-stream' } } }];
  const chunk = { id: 'chatcmpl-of-stream', object: 'chat.completion.chunk', choices };
  stored.set(chunk.id, { id: chunk.id });
  upstream.script = streamOf([chunk, chunk], Promise.resolve());
  const query = { model: 'm', store: true, modalities: ['audio'], messages: [], stream: true };
  const chats = await shared.ask(ours, 'POST', '/chat/completions', query);
  expect(chats.body.match(/chatcmpl-of-stream/g)).toHaveLength(2);
  const content = [{ type: 'bash_code_execution_output', file_id: 'file-of-stream' }];
  const block = { type: 'bash_code_execution_tool_result', content: { content } };
  const container = { id: 'container-of-stream' };
  for (const id of ['file-of-stream', 'container-of-stream']) stored.set(id, { id });
  upstream.script = streamOf(
    [
      { type: 'message_start', message: { id: 'msg', content: [], usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'message_delta', delta: { container }, usage: { output_tokens: 1 } },
    ],
    Promise.resolve(),
  );
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
  const message = { model: 'm', max_tokens: 9, messages: [], tools, stream: true };
  expect(await shared.ask(claude, 'POST', '/messages', message)).toMatchObject({ status: 200 });
  upstream.script = script;
  const own: [{ readonly key: string }, string][] = [
    [ours, '/chat/completions/chatcmpl-of-stream'],
    [claude, '/files/file-of-stream'],
    [claude, '/containers/container-of-stream'],
  ];
  for (const [by, path] of own) {
    expect([path, await shared.ask(by, 'GET', path)]).toMatchObject([path, { status: 200 }]);
    expect(await shared.ask(theirs, 'GET', path)).toMatchObject(notFound);
  }
});
