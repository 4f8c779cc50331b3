/** Tests that a sync behind a proxy reaches Git and its server through it, according to its settings. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import { type ForwardProxy, startForwardProxy } from '../../support/network/forward-proxy.ts';
import type { TestServer } from '../../support/server/server.ts';
import { manifest } from '../../support/sync/manifests.ts';
import { startSyncServer } from '../../support/sync/sync-setup.ts';
import { writeCredentials } from '../daemon/daemon-process.ts';
import { runCli } from './run-cli.ts';

let proxy: ForwardProxy;
let git: GitServer;
let server: TestServer;
let folder: string;

beforeAll(async () => {
  [proxy, git, server] = await Promise.all([
    startForwardProxy(),
    startGitServer(),
    startSyncServer(),
  ]);
  folder = mkdtempSync(join(tmpdir(), 'gatewright-proxy-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await Promise.all([proxy, git, server].map((one) => one?.[Symbol.asyncDispose]()));
});

it('reads manifests and applies changes through the proxy, and never prints its password', async () => {
  const repository = git.repository('gw');
  repository.commit('main', { 'a.yaml': manifest('Workspace', 'support', '') });
  const [source, api] = [repository.url, server.url].map((url) => new URL(url));
  source!.hostname = 'git.test';
  api!.hostname = 'api.test';
  writeCredentials(folder, server, api!.origin);
  proxy.credentials = 'sync:canary-of-proxy';
  const address = proxy.url.replace('//', `//${proxy.credentials}@`);
  const env = {
    GATEWRIGHT_CREDENTIALS: 'credentials.json',
    GATEWRIGHT_GIT_CA_FILE: git.caFile,
    https_proxy: address,
    HTTP_PROXY: address,
    NO_PROXY: '.svc,10.0.0.0/8',
  };
  const synced = await runCli(['sync', source!.href, '--once', '-o', 'json'], null, {
    cwd: folder,
    env,
  });
  expect(synced).toMatchObject({ exitCode: 0, stderr: '' });
  expect(new Set(proxy.requests.map((one) => one.replace(/(test:\d+).*/, '$1')))).toEqual(
    new Set([
      `CONNECT git.test:${source!.port}`,
      ...['GET', 'POST', 'PUT', 'DELETE'].map((method) => `${method} http://${api!.host}`),
    ]),
  );
  const { body } = await server.request('GET', '/v2/workspaces');
  expect(body.data.map(({ name }: { name: string }) => name)).toContain('support');

  proxy.credentials = 'another';
  const refused = await runCli(['sync', source!.href, '--once'], null, { cwd: folder, env });
  expect(refused.exitCode).toBe(6);
  expect(refused.stderr).toContain('407');
  const displayed = await runCli(['settings'], null, { cwd: folder, env });
  expect(displayed.stdout).toMatch(/HTTP_PROXY +\(secret env:HTTP_PROXY\)/);
  const reported = [synced, refused, displayed]
    .flatMap(({ stdout, stderr }) => [stdout, stderr])
    .join();
  expect(reported).not.toContain('canary-of-proxy');
});
