/** Tests plan, apply and sync with values in a real Kubernetes: output, exit codes, and no secret in the output. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../support/server/server.ts';
import { manifest } from '../support/sync/manifests.ts';
import { startSyncServer } from '../support/sync/sync-setup.ts';
import { type CliResult, runCli } from '../system/commands/run-cli.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const canaries = ['canary-of-secret', 'canary-of-map', 'canary-afterwards'];
const inApps = (name: string): string => `{namespace: apps, name: ${name}, key: token}`;
const headers = `
  A: {valueFrom: {kubernetesSecret: ${inApps('crm')}, prefix: "Bearer "}}
  B: {valueFrom: {kubernetesConfigMap: ${inApps('crm')}}}`;
const integration = (name: string, custom: string): string =>
  manifest(
    'McpIntegration',
    name,
    `url: https://crm.example.com/mcp
authType: headers
transport: http
configurations: {customHeaders: {${custom}}}`,
    ', workspace: support',
  );
const files = {
  'support.yaml': manifest('Workspace', 'support', ''),
  'crm.yaml': integration('crm', headers.trim().replace('\n', ',')),
  'bot.yaml': manifest(
    'ApiKey',
    'bot',
    `scopes: [workspaces.list]\nsecretOutput: {kubernetesSecret: {namespace: apps, name: bot, key: api-key}}`,
  ),
};

describe.skipIf(unavailable !== null)(
  `commands with values in Kubernetes${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let server: TestServer;
    let folder: string;

    beforeAll(async () => {
      [api, server] = await Promise.all([startKubernetesApi(), startSyncServer()]);
      const metadata = { name: 'apps' };
      await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
      const crm = { apiVersion: 'v1', metadata: { name: 'crm' } };
      const data = { token: Buffer.from(`${canaries[0]}\n`).toString('base64') };
      await create('/api/v1/namespaces/apps/secrets', { ...crm, kind: 'Secret', data });
      const map = { ...crm, kind: 'ConfigMap', data: { token: canaries[1] } };
      await create('/api/v1/namespaces/apps/configmaps', map);
      folder = mkdtempSync(join(tmpdir(), 'gatewright-cluster-'));
      for (const [name, text] of Object.entries(files)) write(`gateway/${name}`, text);
      write(
        '.gatewright/credentials.json',
        JSON.stringify({
          baseUrl: `${server.url}/v1`,
          adminBaseUrl: server.url,
          authUrl: server.url,
          iamUrl: server.url,
          tsgId: server.tsgId,
          clientId: server.clientId,
          clientSecret: server.clientSecret,
          organisationApiKey: server.organisationApiKey,
        }),
      );
    });
    afterAll(async () => {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      await server?.[Symbol.asyncDispose]();
      await api?.[Symbol.asyncDispose]();
    });

    const create = (path: string, body: unknown): Promise<unknown> =>
      api.request({ method: 'POST', path, body });

    function write(path: string, text: string): void {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    }

    /** Also asserts that the output contains no secret. */
    async function run(
      words: readonly string[],
      user: string | null = 'admin',
    ): Promise<CliResult> {
      const env: Record<string, string> =
        user === null
          ? {}
          : {
              GATEWRIGHT_KUBERNETES_NAMESPACES: 'apps, jobs',
              GATEWRIGHT_KUBERNETES_CONFIG: api.kubeconfig(user),
            };
      const result = await runCli(words, null, { cwd: folder, env });
      const output = result.stdout + result.stderr;
      for (const canary of [...canaries, `token-of-${user}`]) expect(output).not.toContain(canary);
      return result;
    }

    it('runs validate without a cluster and without the setting', async () => {
      expect(await run(['validate', 'gateway'], null)).toMatchObject({ exitCode: 0, stderr: '' });
    });

    it('names the missing setting in plan', async () => {
      const { exitCode, stderr } = await run(['plan', 'gateway'], null);
      expect(exitCode).toBe(5);
      expect(stderr).toContain('not in GATEWRIGHT_KUBERNETES_NAMESPACES, which is not set');
      expect(stderr).toContain('crm.yaml:');
    });

    it('reports a missing right with the message of the cluster', async () => {
      const { exitCode, stderr } = await run(['plan', 'gateway'], 'nobody');
      expect(exitCode).toBe(5);
      expect(stderr).toContain('User "nobody" cannot get resource "secrets"');
    });

    it('applies values, and plans a changed Secret as a change without its value', async () => {
      const planned = await run(['plan', 'gateway', '-o', 'json']);
      expect(planned).toMatchObject({ exitCode: 2, stderr: '' });
      expect(planned.stdout).toContain('kubernetesSecret:apps/crm/token');
      expect(await run(['apply', 'gateway', '--yes'])).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await run(['plan', 'gateway'])).toMatchObject({ exitCode: 0, stderr: '' });
      const data = { token: Buffer.from(canaries[2]!).toString('base64') };
      await api.request({
        method: 'PATCH',
        path: '/api/v1/namespaces/apps/secrets/crm',
        contentType: 'application/merge-patch+json',
        body: { data },
      });
      const changed = await run(['plan', 'gateway']);
      expect(changed.exitCode).toBe(2);
      expect(changed.stdout).toContain('McpIntegration/support/crm');
      expect(await run(['apply', 'gateway', '--yes'])).toMatchObject({ exitCode: 0, stderr: '' });
      const exported = await run(['export', 'exported']);
      expect(exported.stdout + exported.stderr).toContain('kubernetesSecret apps/crm/token');
      rmSync(join(folder, 'exported'), { recursive: true });
    });

    it('stops plan with one message for an unreachable cluster, and sync only for what needs it', async () => {
      write('gateway/other.yaml', manifest('Workspace', 'other', ''));
      await api.stop();
      const words = `Kubernetes at ${api.url} is out of reach`;
      const planned = await run(['plan', 'gateway']);
      expect(planned.exitCode).toBe(6);
      expect(planned.stderr.split(words)).toHaveLength(2);
      const synced = await run(['sync', 'gateway', '--once']);
      expect(synced.exitCode).toBe(3);
      expect(synced.stdout).toContain(words);
      expect(synced.stdout).toContain('Workspace/other');
      await api.start();
      expect(await run(['sync', 'gateway', '--once'])).toMatchObject({ exitCode: 0 });
    });
  },
);
