/** Tests that the gateway finds the era of a server when it refuses legacy requests. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let plane: McpTestPlane;
let key: string;
let slug: string;

beforeAll(async () => {
  plane = await startMcpTestPlane();
  key = (await plane.addKey()).key;
});
beforeEach(async () => {
  slug = (await plane.addServer()).slug;
  plane.upstream.journal.length = 0;
  plane.upstream.script = null;
});
afterAll(() => plane[Symbol.asyncDispose]());

const methods = () => plane.upstream.journal.map(({ body }) => body.method);
const refusal = (id: unknown, code: number) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: 'refused' },
});

/** Answers `server/discover` with the error, and refuses everything else with the other. */
function refuse(discoverCode: number, code: number): void {
  plane.upstream.script = ({ body }, response) => {
    const own = body.method === 'server/discover' ? discoverCode : code;
    sendJson(response, refusal(body.id, own), 400);
  };
}

describe('the era of a server', () => {
  it('is not probed while it accepts the requests of its clients', async () => {
    await plane.call(key, slug, 'initialize');
    await plane.call(key, slug, 'tools/list');
    expect(methods()).toEqual(['initialize', 'tools/list']);
  });

  it('is probed once when the server refuses legacy requests like a modern one, and relayed when it is legacy', async () => {
    refuse(-32000, -32602);
    const first = await plane.call(key, slug, 'tools/list');
    const second = await plane.call(key, slug, 'tools/list');
    expect([first.status, second.status]).toEqual([400, 400]);
    expect(first.body).toEqual(refusal(1, -32602));
    expect(methods()).toEqual(['tools/list', 'server/discover', 'tools/list']);
  });

  it('is not probed for other errors', async () => {
    refuse(-32000, -32000);
    expect((await plane.call(key, slug, 'initialize')).status).toBe(400);
    expect(methods()).toEqual(['initialize']);
  });

  it('is probed once for concurrent requests, and counted', async () => {
    refuse(-32021, -32022);
    await Promise.all([1, 2, 3, 4].map((id) => plane.call(key, slug, 'tools/list', {}, { id })));
    expect(methods().filter((method) => method === 'server/discover')).toHaveLength(1);
    const { body } = await exchange('GET', `${plane.server.metricsUrl}/metrics`, undefined, {});
    expect(body).toMatch(/gatewright_mcp_era_probes_total\{result="modern"\} [1-9]/);
  });
});
