/** Verifies that changes take effect without a new session, in both eras and through the bridge in both directions. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ModernCaller } from '../../support/mcp/modern-caller.ts';
import { isModernRequest, type SpokenEra, speakOnly } from '../../support/mcp/one-era.ts';
import { messagesIn } from '../../support/mcp/open-events.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
beforeAll(async () => {
  plane = await startMcpTestPlane();
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(() => plane[Symbol.asyncDispose]());

interface ServerUse {
  readonly key: { readonly key: string; readonly id: string };
  readonly server: CreatedResource;
  readonly integration: CreatedResource;
  /** Calls a tool in the same session; the status, or the code of an error with status 200. */
  call(): Promise<number>;
}

async function begin(client: 'legacy' | 'modern', speaks: SpokenEra): Promise<ServerUse> {
  speakOnly(plane.upstream, speaks);
  const key = await plane.addKey();
  const integration = await plane.addIntegration({
    configurations: { custom_headers: { 'X-Secret': 'one' } },
  });
  const server = await plane.addServer({}, integration);
  const codeOf = (status: number, message: { readonly error?: { readonly code: number } }) =>
    status === 200 ? (message.error?.code ?? status) : status;
  if (client === 'modern') {
    const caller = new ModernCaller(plane, key.key, server.slug);
    const call = async () => {
      const { status, message } = await caller.callTool('echo');
      return codeOf(status, message);
    };
    return { key, server, integration, call };
  }
  const headers = await plane.openSession(key.key, server.slug);
  const call = async () => {
    const sent = await plane.call(
      key.key,
      server.slug,
      'tools/call',
      { name: 'echo' },
      { headers },
    );
    const isStream = typeof sent.body === 'string';
    return codeOf(sent.status, isStream ? messagesIn(sent.body)[0]! : sent.body);
  };
  return { key, server, integration, call };
}

async function put(path: string, body: object): Promise<void> {
  const { status } = await plane.server.request('PUT', path, { body });
  expect([path, status]).toEqual([path, 200]);
}

const lastCall = () =>
  plane.upstream.journal.findLast(({ body }) => body?.method === 'tools/call')!;

/** Changes something, and waits until calls show it. */
const changes: [string, (used: ServerUse) => Promise<void>][] = [
  [
    'the allow-list',
    async ({ server, call }) => {
      const path = `/v2/mcp-servers/${server.id}/capabilities`;
      await put(path, { capabilities: [{ type: 'tool', name: 'echo', enabled: false }] });
      await eventually(async () => expect(await call()).toBe(-32602));
    },
  ],
  [
    'user access',
    async ({ server, call }) => {
      await put(`/v2/mcp-servers/${server.id}/user-access`, { default_user_access: 'deny' });
      await eventually(async () => expect(await call()).toBe(403));
    },
  ],
  [
    'the key',
    async ({ key, call }) => {
      const removed = await plane.server.request('DELETE', `/v1/api-keys/${key.id}`);
      expect(removed.status).toBe(200);
      await eventually(async () => expect(await call()).toBe(401));
    },
  ],
  [
    'a guardrail',
    async ({ server, call }) => {
      await plane.guard(
        server,
        [{ id: 'default.contains', parameters: { words: ['done'], operator: 'none' } }],
        { run_on: ['output'] },
      );
      await eventually(async () => expect(await call()).toBe(-32446));
    },
  ],
  [
    'the address',
    async ({ integration, call }) => {
      const url = `${plane.upstream.url}/moved`;
      const configurations = { custom_headers: { 'X-Secret': 'one' } };
      await put(`/v2/mcp-integrations/${integration.id}`, { url, configurations });
      await eventually(async () => {
        await call();
        expect(lastCall().url).toBe('/mcp/moved');
      });
    },
  ],
  [
    'a secret',
    async ({ integration, call }) => {
      const configurations = { custom_headers: { 'X-Secret': 'two' } };
      await put(`/v2/mcp-integrations/${integration.id}`, { configurations });
      await eventually(async () => {
        expect(await call()).toBe(200);
        expect(lastCall().headers['x-secret']).toBe('two');
      });
    },
  ],
];

describe.each([
  ['a legacy client', 'legacy', 'both'],
  ['a modern client', 'modern', 'both'],
  ['a legacy client of a modern server', 'legacy', 'modern'],
  ['a modern client of a legacy server', 'modern', 'legacy'],
] as const)('%s that goes on calling', (_, client, speaks) => {
  it.each(changes)('sees a change of %s', async (_name, change) => {
    const used = await begin(client, speaks);
    expect(await used.call()).toBe(200);
    const isBridged = client !== speaks && speaks !== 'both';
    expect(isModernRequest(lastCall())).toBe(isBridged ? client === 'legacy' : client === 'modern');
    await change(used);
  });
});
