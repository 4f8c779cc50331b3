/**
 * Verifies TRUSTED_CUSTOM_HOSTS: private addresses and cluster-internal names are accepted only
 * when they are listed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/settings.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const hosts = '10.1.2.3:8000, *.svc.cluster.local, 169.254.0.0/16';
let closed: TestServer;
let open: TestServer;
beforeAll(async () => {
  const { trustedHosts } = readSettings({ TRUSTED_CUSTOM_HOSTS: hosts }, { cwd: '/nonexistent' });
  [closed, open] = await Promise.all([
    startTestServer(),
    startTestServer({ settings: { trustedHosts } }),
  ]);
});
afterAll(() => Promise.all([closed, open].map((server) => server[Symbol.asyncDispose]())));

async function verdict(server: TestServer, url: string): Promise<string> {
  const body = { name: 'CRM', url, auth_type: 'none', transport: 'http' };
  const answer = await server.request('POST', '/admin/v2/mcp-integrations', { body });
  return answer.status === 200 ? 'accepted' : `${answer.status} ${answer.body.error.message}`;
}

const isPrivate = expect.stringMatching(/^400 .*TRUSTED_CUSTOM_HOSTS/);
const isMetadata = expect.stringMatching(/^400 .*cloud metadata/);

describe('an MCP integration', () => {
  it.each([
    ['http://10.1.2.3:8000/mcp', isPrivate, 'accepted'],
    ['http://10.1.2.3:8001/mcp', isPrivate, isPrivate],
    ['http://10.1.2.4:8000/mcp', isPrivate, isPrivate],
    ['http://169.254.169.254/latest', isMetadata, isMetadata],
    ['http://crm.svc.cluster.local:8080/mcp', isPrivate, 'accepted'],
    ['http://CRM.svc.Cluster.local.:8080/mcp', isPrivate, 'accepted'],
    ['http://crm.default.svc.acme.example/mcp', isPrivate, isPrivate],
    ['http://crm:8080/mcp', isPrivate, isPrivate],
  ])('is checked against the list at %s', async (url, unlisted, listed) => {
    expect(await verdict(closed, url)).toEqual(unlisted);
    expect(await verdict(open, url)).toEqual(listed);
  });

  it('may use a service port of a listed host only when the entry contains the port', async () => {
    const url = 'http://cache.svc.cluster.local:6379/mcp';
    expect(await verdict(open, url)).toContain('must not use port 6379');
  });
});

describe('a guardrail and a config', () => {
  const webhook = {
    id: 'default.webhook',
    parameters: { webhookURL: 'http://10.1.2.3:8000/check' },
  };
  const requests = [
    ['/v1/guardrails', { name: 'G', checks: [webhook], actions: {} }],
    ['/v1/configs', { name: 'C', config: { custom_host: 'http://10.1.2.3:8000/v1' } }],
  ] as const;
  it.each(requests)('%s is checked against the same list', async (path, body) => {
    expect((await closed.request('POST', path, { body })).body.error.message).toContain(
      'TRUSTED_CUSTOM_HOSTS',
    );
    expect((await open.request('POST', path, { body })).status).toBe(200);
  });
});
