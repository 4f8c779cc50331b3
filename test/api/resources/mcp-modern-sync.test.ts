/** Verifies that servers of the modern era are queried for their metadata and capabilities. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import type { McpFixture } from '../../support/mcp/fixture-host.ts';
import { startModernFixture } from '../../support/mcp/modern-fixture.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { sendJson, startUpstream } from '../../support/upstream/upstream.ts';

const path = '/v1/mcp-integrations';
let server: TestServer;
let fixture: McpFixture;

beforeAll(async () => {
  const trusted = readTrustedHosts('127.0.0.1');
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  fixture = await startModernFixture();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

describe('a server that speaks the modern era only', () => {
  it('is queried with modern requests after it has refused initialize', async () => {
    const body = { name: 'modern', url: fixture.url, auth_type: 'none', transport: 'http' };
    const { id } = (await server.request('POST', path, { body })).body;
    const synced = await server.request('POST', `${path}/${id}/sync`, { body: {} });
    expect(synced.body).toMatchObject({ success: true });
    expect(synced.body.counts.tools.total).toBeGreaterThan(10);
    expect(synced.body.counts.resource_templates?.total ?? 1).toBeGreaterThan(0);
    expect((await server.request('GET', `${path}/${id}/metadata`)).body).toMatchObject({
      protocol_version: '2026-07-28',
      server_name: 'modern-fixture',
      instructions: 'A fixture of the modern era.',
    });
    const methods = fixture.journal.map(({ body }) => (body as { method?: string }).method);
    expect(methods.slice(0, 2)).toEqual(['initialize', 'server/discover']);
    expect(methods).toContain('resources/templates/list');
  });

  it('reports the first refusal of a server of neither era', async () => {
    await using neither = await startUpstream((_, response) => sendJson(response, {}, 404));
    const body = { name: 'neither', url: neither.url, auth_type: 'none', transport: 'http' };
    const { id } = (await server.request('POST', path, { body })).body;
    const tested = await server.request('POST', `${path}/${id}/test`, { body: {} });
    expect(tested.body).toMatchObject({ error: expect.stringContaining('responds with 404') });
  });
});
