/** Verifies for every method of MCP and both eras that every check judges its texts, or that docs say why not. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { evaluatedMethods } from '../../../src/mcp/messages/read-messages.ts';
import { unjudgedMethods } from '../../../src/mcp/messages/unjudged-methods.ts';
import {
  addCensusGuardrails,
  loggedChecks,
  missingChecks,
} from '../../support/guardrails/census.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let key: string;

const contains = { id: 'default.contains', parameters: { words: ['canary'], operator: 'none' } };
const modern = '2026-07-28';

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});

beforeEach(() => {
  plane.upstream.journal.length = 0;
  Object.assign(plane.upstream, { streams: false, answer: null, script: null, before: [] });
});

afterAll(() => plane[Symbol.asyncDispose]());

type Era = 'legacy' | 'modern';

/** Calls a method in the form of an era. */
function call(slug: string, era: Era, method: string, params: Record<string, unknown>, trace = '') {
  const traced: Record<string, string> = trace === '' ? {} : { 'x-gateway-trace-id': trace };
  if (era === 'legacy') return plane.call(key, slug, method, params, { headers: traced });
  const { name, uri } = params;
  const headers: Record<string, string> = {
    'mcp-protocol-version': modern,
    'mcp-method': method,
    ...(typeof (name ?? uri) === 'string' ? { 'mcp-name': String(name ?? uri) } : {}),
    ...traced,
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientInfo': { name: 'test client', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return plane.call(key, slug, method, { ...params, _meta }, { headers });
}

async function guardedServer(actions: object, mapping: object = {}): Promise<CreatedResource> {
  const server = await plane.addServer();
  await plane.guard(server, [contains], { run_on: ['input', 'output'], ...mapping }, actions);
  return server;
}

const answersCalls = (answer: object) => (message: { readonly method: string }) =>
  message.method === 'tools/call' ? answer : null;

const eras = ['legacy', 'modern'] as const;

describe.each(eras)('a tool call of the %s era', (era) => {
  const results: [string, object][] = [
    ['a text', { result: { content: [{ type: 'text', text: 'a canary' }] } }],
    ['structured content', { result: { content: [], structuredContent: { a: 'a canary' } } }],
    [
      'the address of a resource',
      { result: { content: [{ type: 'resource_link', name: 'x', uri: 'test://canary' }] } },
    ],
    ['an error', { error: { code: -32000, message: 'a canary' } }],
  ];

  it('is denied for its arguments, whatever the server would answer', async () => {
    const { slug } = await guardedServer({ deny: true });
    const params = { name: 'echo', arguments: { text: 'a canary' } };
    const denied = await call(slug, era, 'tools/call', params);
    expect(denied.body).toMatchObject({ error: { code: -32446 } });
    expect(plane.upstream.calls()).toEqual([]);
  });

  it.each(results)('is denied for %s in its result', async (_, answer) => {
    for (const streams of [false, true]) {
      Object.assign(plane.upstream, { streams, answer: answersCalls(answer) });
      const { slug } = await guardedServer({ deny: true });
      const params = { name: 'echo', arguments: { text: 'x' } };
      const denied = await call(slug, era, 'tools/call', params);
      expect(JSON.stringify(denied.body)).not.toContain('canary');
      expect(JSON.stringify(denied.body)).toContain('-32446');
    }
  });

  it('is judged by every check on both sides', async () => {
    const guardrails = await addCensusGuardrails(plane.server, plane.workspace.id, 'mcp_tools');
    const traces: string[] = [];
    for (const [at, { id }] of guardrails.entries()) {
      const server = await plane.addServer();
      const path = `/v2/guardrails/${id}/mcp-servers/${server.id}`;
      const put = await plane.server.request('PUT', path, {
        body: { run_on: ['input', 'output'] },
      });
      expect(put).toMatchObject({ status: 200 });
      const trace = `census-${era}-${at}`;
      traces.push(trace);
      const params = { name: 'echo', arguments: { text: 'x' } };
      expect(await call(server.slug, era, 'tools/call', params, trace)).toMatchObject({
        status: 200,
      });
    }
    for (const side of ['input', 'output'] as const) {
      expect(missingChecks(await loggedChecks(plane.server, traces, side))).toEqual([]);
    }
  });
});

describe('a method whose texts are not judged', () => {
  const paramsOf: Readonly<Record<string, Record<string, unknown>>> = {
    'prompts/get': { name: 'greet' },
    'resources/read': { uri: 'test://readme' },
    'completion/complete': {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'a', value: 'x' },
    },
  };
  const cases = eras.flatMap((era) => [...unjudgedMethods].map((method) => [era, method] as const));

  it.each(cases)('is refused under a guardrail that fails closed: %s %s', async (era, method) => {
    const { slug } = await guardedServer({ deny: true, fail_closed: true });
    const refused = await call(slug, era, method, paramsOf[method]!);
    expect(refused.body).toMatchObject({
      error: { code: -32446, data: { code: 'guardrail_denied' } },
    });
    const reached = plane.upstream.journal.filter(({ body }) => body?.method === method);
    expect(reached).toEqual([]);
  });

  it.each(cases)(
    'passes where the guardrail only observes, or fails open: %s %s',
    async (era, method) => {
      for (const actions of [{ deny: true }, { fail_closed: true, mode: 'monitor' }]) {
        const { slug } = await guardedServer(actions);
        const passed = await call(slug, era, method, paramsOf[method]!);
        expect(passed.body.error?.code).not.toBe(-32446);
      }
    },
  );
});

describe('the reference', () => {
  /** Methods whose texts guardrails judge. */
  const judged = ['tasks/get', 'tasks/result', 'tasks/update', 'tools/call'];
  const page = readFileSync('docs/reference/mcp.md', 'utf8').split('\n## Guardrails')[1]!;
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));

  it.each(evaluatedMethods)('states whether %s is judged', (method) => {
    const row = rows.find((line) => line.split('|')[1]!.includes(`\`${method}\``));
    expect(row?.split('|')[2]?.trim()).toMatch(judged.includes(method) ? /^yes$/ : /^no: /);
  });
});
