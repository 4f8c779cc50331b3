/**
 * Verifies that guardrails judge stored objects, wherever they are stored: what is written and what
 * is returned.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAssistants } from '../../support/upstream/assistants-provider.ts';
import {
  type SharedAccount,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;
let ours: Tenant;
/** Saved configs of the tenant, because runs accept no others. */
let configs: Record<'native' | 'proxy', object>;
const provider = startAssistants();

const forbids = (word: string, more: object = {}) => ({
  'default.contains': { words: [word], operator: 'none' },
  deny: true,
  ...more,
});
const replaces = (rule: string) => ({ 'default.regexReplace': { rule, redactText: '[...]' } });

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  ours = await shared.tenant('ours');
  configs = {
    native: { provider: 'vllm', custom_host: upstream.url },
    proxy: { provider: ours.provider },
  };
});

beforeEach(() => {
  provider.received.length = 0;
  provider.reply = 'hi';
  upstream.reached.length = 0;
  upstream.script = provider.script;
});

afterAll(() => shared[Symbol.asyncDispose]());

const messageOf = (id: string, role: string, value: string) => ({
  id,
  object: 'thread.message',
  role,
  content: [{ type: 'text', text: { value, annotations: [] } }],
});

function events(response: ServerResponse, ...collectVisibleText: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(collectVisibleText.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

async function saved(config: object): Promise<string> {
  const { server } = shared.inference;
  const { body, status } = await server.request('POST', '/v2/configs', {
    body: { name: 'guarded', workspace_id: ours.workspaceId, config },
  });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.slug;
}

const clientBy = async (config: object): Promise<OpenAI> => {
  const defaultHeaders = { 'x-gateway-config': await saved(config) };
  const baseURL = `${shared.inference.server.inferenceUrl}/v1`;
  return new OpenAI({ apiKey: ours.key, baseURL, defaultHeaders, maxRetries: 0 });
};

describe.each(['native', 'proxy'] as const)('stored assistants (%s)', (stored) => {
  let plain: OpenAI;
  let assistant: string;

  beforeAll(async () => {
    plain = await clientBy(configs[stored]);
    upstream.script = provider.script;
    assistant = (await plain.beta.assistants.create({ model: 'm' })).id;
  });

  const guarded = (guardrails: object) => clientBy({ ...configs[stored], ...guardrails });

  /** Returns everything that a caller sees of the text of a run, including rejected parts. */
  async function collectVisibleText(by: OpenAI, content: string): Promise<string> {
    const { threads } = by.beta;
    const { id } = await plain.beta.threads.create();
    const query = { assistant_id: assistant };
    const responseValue = await Promise.allSettled([
      threads.messages
        .create(id, { role: 'user', content })
        .then(() => threads.runs.createAndPoll(id, query, { pollIntervalMs: 20 })),
    ]);
    const { data } = await plain.beta.threads.messages.list(id);
    const answers = data.filter(({ role }) => role === 'assistant');
    const visible = await Promise.allSettled([
      threads.messages.list(id).then((page) => page.data),
      ...answers.map((one) => threads.messages.retrieve(one.id, { thread_id: id })),
    ]);
    return JSON.stringify([responseValue, visible]);
  }

  async function streamed(by: OpenAI): Promise<string> {
    const { id } = await plain.beta.threads.create({ messages: [{ role: 'user', content: 'x' }] });
    const events: unknown[] = [];
    const stream = by.beta.threads.runs.create(id, { assistant_id: assistant, stream: true });
    await stream
      .then(async (all) => {
        for await (const event of all) events.push(event);
      })
      .catch((refusal: unknown) => events.push(refusal));
    return JSON.stringify(events);
  }

  it('sends denied content to no model, and redacted content only in its redacted form', async () => {
    await collectVisibleText(await guarded({ input_guardrails: [forbids('bomb')] }), 'a bomb');
    expect(provider.received.join()).not.toContain('bomb');
    await collectVisibleText(
      await guarded({ input_guardrails: [replaces('\\d{3}-\\d{4}')] }),
      'call 555-1234',
    );
    expect(provider.received.join()).toContain('call [...]');
    expect(provider.received.join()).not.toContain('555-1234');
  });

  it('returns denied content in no list, message or stream', async () => {
    provider.reply = 'build a bomb';
    const by = await guarded({ output_guardrails: [forbids('bomb')] });
    expect(await collectVisibleText(by, 'how?')).not.toContain('bomb');
    expect(await streamed(by)).not.toContain('bomb');
    expect(provider.received).toHaveLength(2);
  });

  it('returns redacted content only in its redacted form', async () => {
    // Letters that occur in no id.
    provider.reply = 'call zzz-yyyy';
    const by = await guarded({ output_guardrails: [replaces('z{3}-y{4}')] });
    for (const all of [await collectVisibleText(by, 'whom?'), await streamed(by)]) {
      expect(all).toContain('call [...]');
      expect(all).not.toMatch(/zzz|yyyy/);
    }
  });
});

describe('provider objects under guardrails', () => {
  const canary = 'forbidden-word';
  const rows = readFileSync('docs/reference/stored-objects.md', 'utf8')
    .split('## Guardrails on stored objects')[1]!
    .split('\n')
    .filter((line) => /^\| `(?:GET|POST) /.test(line))
    .flatMap((line) => {
      const [, requests, requested, answered] = line
        .split('|')
        .map((cell) => [
          ...[...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!),
          ...(cell.includes('events') ? ['events'] : []),
        ]);
      return requests!.map((request) => ({ request, requested: requested!, answered: answered! }));
    });

  /** A document with the word at a path like `a.b[].c`. */
  function holding(path: string, text: string): unknown {
    const [, name, list, rest] = /^([^.[]+)(\[\])?\.?(.*)$/.exec(path)!;
    const below = rest === '' ? text : holding(rest!, text);
    return { [name!]: list === undefined ? below : [below] };
  }

  /** Headers with a guardrail that judges every word. */
  let headers: Record<string, string>;
  /** Ids of the caller for `{id}`. */
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    upstream.script = provider.script;
    for (const kind of ['assistants', 'threads', 'conversations', 'responses', 'vector_stores']) {
      const params = kind === 'responses' ? { model: 'm', input: 'x' } : {};
      ids[kind] = (await shared.ask(ours, 'POST', `/${kind}`, params)).body.id;
    }
    const chat = { model: 'm', store: true, messages: [{ role: 'user', content: 'x' }] };
    ids.chat = (await shared.ask(ours, 'POST', '/chat/completions', chat)).body.id;
    const guardrails = [forbids(canary, { scan_scope: 'all_messages' })];
    const slug = await saved({
      ...configs.proxy,
      input_guardrails: guardrails,
      output_guardrails: guardrails,
    });
    headers = { 'x-gateway-config': slug };
  });

  async function ask(request: string, body: object = {}) {
    const [method, pattern] = request.split(' ') as [string, string];
    const [, kind] = pattern.split('/') as [string, string];
    const path = pattern.replace('{id}', ids[kind]!).replaceAll(/[{}]/g, '');
    const model = pattern.endsWith('/responses') ? { model: 'm' } : {};
    const sent = method === 'POST' ? { ...model, ...body } : undefined;
    return shared.ask(ours, method, path, sent, headers);
  }

  it.each(rows)('is judged as documented: $request', async ({ request, requested, answered }) => {
    expect(requested.length + answered.length).toBeGreaterThan(0);
    for (const path of requested) {
      upstream.reached.length = 0;
      const refused = await ask(request, holding(path, canary) as object);
      expect([path, refused]).toMatchObject([path, { status: 446 }]);
      expect(upstream.reached).toHaveLength(0);
    }
    for (const path of answered) {
      const isStream = path === 'events';
      const answer = isStream ? {} : (holding(path, canary) as object);
      // The gateway lists objects of a provider by requesting them one by one.
      const isList = /^GET \/(?:responses|chat\/completions)$/.test(request);
      const visible = isList ? (answer as { data: object[] }).data[0] : answer;
      upstream.script = (_, response) => {
        if (isStream) return events(response, messageOf('one', 'assistant', canary));
        return sendJson(response, { id: 'one', ...visible });
      };
      const refused = await ask(request, { stream: isStream });
      expect([path, refused]).toMatchObject([path, { status: 446 }]);
      expect(JSON.stringify(refused.body)).not.toContain(canary);
    }
  });

  const by = (output: object) => saved({ ...configs.proxy, output_guardrails: [output] });
  const showing = (config: string, path: string) =>
    shared.ask(ours, 'GET', path, undefined, { 'x-gateway-config': config });

  it("is judged response by response without the caller's input, and unchanged when it contains no model output", async () => {
    const deny = { deny: true, 'default.wordCount': { minWords: 2, maxWords: 3 } };
    const config = await by(deny);
    const data = [
      messageOf('m3', 'assistant', 'two words'),
      messageOf('m2', 'user', 'a text of the caller of more than three words'),
      messageOf('m1', 'assistant', 'now three words'),
    ];
    upstream.script = (_, response) => sendJson(response, { object: 'list', data });
    const page = await showing(config, `/threads/${ids.threads}/messages`);
    expect([page.status, page.body]).toMatchObject([200, { data }]);
    expect(page.body.hook_results.after_request_hooks).toHaveLength(2);
    const run = { id: 'run', object: 'thread.run', status: 'in_progress', instructions: 'x' };
    upstream.script = (_, response) => sendJson(response, run);
    const polled = await showing(config, `/threads/${ids.threads}/runs/run`);
    expect(polled).toMatchObject({ status: 200, body: run });
    expect(polled.body).not.toHaveProperty('hook_results');
    upstream.script = (_, response) =>
      sendJson(response, { id: 'r', object: 'response', status: 'queued', output: [] });
    expect(await showing(config, `/responses/${ids.responses}`)).toMatchObject({ status: 200 });
  });

  it('returns 246 when a guardrail fails without denying, in a response, a list and a stream', async () => {
    const config = await by(forbids(canary, { deny: false }));
    const collectVisibleText = messageOf('m', 'assistant', canary);
    const path = `/threads/${ids.threads}`;
    upstream.script = (_, response) => sendJson(response, collectVisibleText);
    expect(await showing(config, `${path}/messages/m`)).toMatchObject({
      status: 246,
      body: collectVisibleText,
    });
    upstream.script = (_, response) =>
      sendJson(response, { object: 'list', data: [collectVisibleText] });
    expect(await showing(config, `${path}/messages`)).toMatchObject({ status: 246 });
    upstream.script = (_, response) => events(response, collectVisibleText);
    const run = { stream: true };
    const header = { 'x-gateway-config': config };
    const stream = await shared.ask(ours, 'POST', `${path}/runs`, run, header);
    expect([stream.status, stream.body]).toEqual([246, expect.stringContaining(canary)]);
  });

  it('is withheld when a guardrail cannot judge it and fails closed', async () => {
    const hook = { webhookURL: `${upstream.url}/hook`, timeout: 50 };
    const config = await by({ 'default.webhook': hook, deny: true, fail_closed: true });
    upstream.script = ({ url }, response) => {
      if (!url.endsWith('/hook')) sendJson(response, messageOf('m', 'assistant', canary));
    };
    const refused = await showing(config, `/threads/${ids.threads}/messages/m`);
    expect(refused.status).toBe(446);
    const messages = `/threads/${ids.threads}/messages`;
    const data = Array.from({ length: 1_001 }, () => messageOf('m', 'assistant', 'x'));
    for (const answer of ['no JSON', '[]', JSON.stringify({ data })]) {
      upstream.script = (_, response) => void response.end(answer);
      const unread = await showing(await by(forbids(canary)), messages);
      expect(unread).toMatchObject({ status: 502, body: { error: { code: 'answer_unreadable' } } });
    }
  });

  it('leaves nothing to search after a denial, and belongs to its caller when a stream was withheld', async () => {
    const { db } = shared.inference.server.database;
    const pending = () => db.selectFrom('pending_objects').selectAll().execute();
    const before = await pending();
    const denied = await ask('POST /threads', { messages: [{ role: 'user', content: canary }] });
    expect([denied.status, await pending()]).toEqual([446, before]);
    const response = { id: 'resp-held-back', object: 'response', output: [] };
    upstream.script = (_, sent) =>
      events(
        sent,
        { type: 'response.created', response },
        { type: 'response.completed', response },
      );
    const params = { input: 'x', stream: true };
    expect(await ask('POST /responses', params)).toMatchObject({ status: 200 });
    upstream.script = (_, sent) => sendJson(sent, response);
    expect(await ask(`GET /responses/${response.id}`)).toMatchObject({ status: 200 });
  });
});
