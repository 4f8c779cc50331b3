/** Verifies spans and metrics of MCP requests under OpenTelemetry's names, also of errors that have status 200. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { type Receiver, startReceiver } from '../../support/network/receiver.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { testSettings } from '../../support/server/server.ts';

const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${parent.traceId}-${parent.spanId}-01`;
const modern = '2026-07-28';

interface Span {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status?: object;
  readonly values: Readonly<Record<string, unknown>>;
}

let collector: Receiver;
let plane: McpTestPlane;
let key: string;
let slug: string;

beforeAll(async () => {
  collector = await startReceiver();
  const sampler = { heedsParent: true, ratio: 1 };
  const url = new URL(`${collector.url}/v1/traces`);
  const traces = { url, headers: undefined, serviceName: 'tools', sampler };
  plane = await startMcpTestPlane({ inference: { ...testSettings().inference, traces } });
  ({ key } = await plane.addKey());
  const disabled_capabilities = [{ type: 'tool', name: 'drop_table' }];
  ({ slug } = await plane.addServer({ disabled_capabilities }));
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  plane.upstream.answer = null;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

function exportedSpans(): Span[] {
  return collector.received.flatMap(({ body }) =>
    body.resourceSpans[0].scopeSpans[0].spans.map(
      ({ attributes, ...span }: { attributes: { key: string; value: object }[] }) => ({
        ...span,
        values: Object.fromEntries(
          attributes.map(({ key: name, value }) => [name, Object.values(value)[0]]),
        ),
      }),
    ),
  );
}

/** The spans of the request with this JSON-RPC id. */
async function spansOf(id: string, count: number): Promise<Span[]> {
  return await eventually(() => {
    const found = exportedSpans().filter(({ values }) => values['jsonrpc.request.id'] === id);
    expect(found).toHaveLength(count);
    return found;
  });
}

async function metrics(): Promise<string> {
  return (await exchange('GET', `${plane.server.metricsUrl}/metrics`, undefined, {})).body;
}

describe('a span of an MCP request', () => {
  it('is a child of the caller, and parent of the call that the server receives', async () => {
    const params = { name: 'echo', arguments: { text: 'canary-argument' } };
    const sent = { id: 'one', headers: { traceparent } };
    await plane.call(key, slug, 'tools/call', params, sent);
    const [request, call] = await spansOf('one', 2);
    expect(request).toMatchObject({
      name: 'tools/call echo',
      kind: 2,
      traceId: parent.traceId,
      parentSpanId: parent.spanId,
      values: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'echo',
        'network.transport': 'tcp',
        'gatewright.mcp.server': slug,
        'gatewright.workspace.id': plane.workspace.id,
      },
    });
    expect(request).not.toHaveProperty('status');
    expect(call).toMatchObject({
      name: 'tools/call echo',
      kind: 3,
      traceId: parent.traceId,
      parentSpanId: request!.spanId,
      values: { 'server.address': '127.0.0.1', 'mcp.method.name': 'tools/call' },
    });
    const received = plane.upstream.journal.find(({ body }) => body.method === 'tools/call');
    expect(received!.headers.traceparent).toBe(`00-${parent.traceId}-${call!.spanId}-01`);
    const exported = JSON.stringify(collector.received.map(({ raw }) => raw));
    expect(exported).not.toContain('canary-argument');
    expect(exported).not.toContain(key);
  });

  it('has the parent that `_meta` names, and the version of the protocol', async () => {
    const _meta = {
      traceparent,
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const headers = {
      'mcp-protocol-version': modern,
      'mcp-method': 'prompts/get',
      'mcp-name': 'greet',
    };
    const sent = { id: 'two', headers };
    await plane.call(key, slug, 'prompts/get', { name: 'greet', _meta }, sent);
    const [request] = await spansOf('two', 2);
    expect(request).toMatchObject({
      name: 'prompts/get greet',
      parentSpanId: parent.spanId,
      values: { 'mcp.protocol.version': modern, 'gen_ai.prompt.name': 'greet' },
    });
  });

  it.each([
    ['an error of a tool', { result: { content: [], isError: true } }, 'tool_error', undefined],
    [
      'an error of the server',
      { error: { code: -32001, message: 'no' } },
      'server_error',
      '-32001',
    ],
  ])('shows %s as an error', async (id, answer, type, code) => {
    plane.upstream.answer = () => answer;
    await plane.call(key, slug, 'tools/call', { name: 'add' }, { id });
    for (const { status, values } of await spansOf(id, 2)) {
      expect([status, values['error.type']]).toEqual([{ code: 2 }, type]);
      expect(values['rpc.response.status_code']).toBe(code);
    }
    expect(await metrics()).toMatch(
      new RegExp(
        `mcp_server_operation_duration_seconds_count\\{mcp_method_name="tools/call",gen_ai_tool_name="(?:add|other)",error_type="${type}"\\} 1`,
      ),
    );
  });

  it('has no child when nothing was sent, and the code of the refusal', async () => {
    await plane.call(key, slug, 'tools/call', { name: 'drop_table' }, { id: 'refused' });
    const [request] = await spansOf('refused', 1);
    expect(request!.values).toMatchObject({
      'error.type': 'unknown_capability',
      'rpc.response.status_code': '-32602',
    });
  });
});

it('gives labels of their own only to tools that were called with success', async () => {
  for (const name of ['echo', 'invented-1', 'invented-2', 'drop_table']) {
    plane.upstream.answer = name.startsWith('invented')
      ? () => ({ error: { code: -32602, message: 'Unknown tool' } })
      : null;
    await plane.call(key, slug, 'tools/call', { name }, { id: name });
  }
  const text = await metrics();
  expect(text).toMatch(/mcp_server_operation_duration_seconds_count\{[^}]*gen_ai_tool_name="echo"/);
  expect(text).toMatch(/mcp_client_operation_duration_seconds_count\{[^}]*gen_ai_tool_name="echo"/);
  expect(text).not.toMatch(/invented|drop_table/);
  expect(text).toMatch(/gen_ai_tool_name="other",error_type="unknown_capability"\} [1-9]/);
});
