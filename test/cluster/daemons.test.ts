/** Tests daemons that hold a Lease and show their status in a real Kubernetes while some of them die. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../src/kube/kube-client.ts';
import { getLease } from '../../src/kube/leases.ts';
import { eventually } from '../support/server/eventually.ts';
import type { TestServer } from '../support/server/server.ts';
import { manifest } from '../support/sync/manifests.ts';
import { startSyncServer } from '../support/sync/sync-setup.ts';
import {
  type DaemonEvent,
  startDaemon,
  writeCredentials,
} from '../system/daemon/daemon-process.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const namespace = 'gateways';

describe.skipIf(unavailable !== null)(
  `a daemon in a cluster${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let admin: KubeClient;
    let server: TestServer;
    let folder: string;

    beforeAll(async () => {
      [api, server] = await Promise.all([startKubernetesApi(), startSyncServer()]);
      admin = api.client('admin');
      await api.request({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      });
      folder = mkdtempSync(join(tmpdir(), 'gatewright-daemons-'));
      mkdirSync(join(folder, 'gw'));
      write('one');
      writeCredentials(folder, server);
    });
    afterAll(async () => {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      await server?.[Symbol.asyncDispose]();
      await api?.[Symbol.asyncDispose]();
    });

    function write(description: string): void {
      const text = manifest('Workspace', 'support', `description: ${description}`);
      writeFileSync(join(folder, 'gw/a.yaml'), text);
    }

    const start = () =>
      startDaemon(folder, ['gw'], {
        GATEWRIGHT_KUBERNETES_CONFIG: api.kubeconfig('admin'),
        GATEWRIGHT_KUBERNETES_STATUS: `${namespace}/sync-status`,
        GATEWRIGHT_KUBERNETES_LEASE: `${namespace}/sync`,
      });
    const leads = ({ event }: DaemonEvent) => event === 'leading';

    async function readStatus(): Promise<Record<string, string>> {
      const path = `/api/v1/namespaces/${namespace}/configmaps/sync-status`;
      return (await api.request<{ data: Record<string, string> }>({ method: 'GET', path })).data;
    }

    async function readDescription(): Promise<string> {
      const { body } = await server.request('GET', '/v2/workspaces');
      return body.data.find(({ name }: { name: string }) => name === 'support').description;
    }

    it('leads while it holds the Lease, and takes over from a daemon that dies or stops', async () => {
      await using first = start();
      await first.find(leads);
      await eventually(async () => expect((await readStatus()).state).toBe('Synced'));
      const { holderIdentity } = (await getLease(admin, { namespace, name: 'sync' }))!.spec;
      await using second = start();
      const standby = await second.find(({ event }) => event === 'standby');
      expect(standby.leader).toContain(holderIdentity);

      first.child.kill('SIGKILL');
      await second.find(leads);
      write('two');
      await eventually(async () => expect(await readDescription()).toBe('two'));

      await using third = start();
      await third.find(({ event }) => event === 'standby');
      second.child.kill('SIGTERM');
      expect(await second.ended).toEqual({ exitCode: 0, stderr: '' });
      await third.find(leads);
      write('three');
      await eventually(async () => expect(await readDescription()).toBe('three'));
      const commit = (await readStatus()).commitApplied;
      expect(commit).toMatch(/^sha256:/);
    });

    it('shows in the cluster that the server cannot be reached, before the first contact', async () => {
      const unreachable = mkdtempSync(join(tmpdir(), 'gatewright-daemons-'));
      try {
        cpSync(join(folder, 'gw'), join(unreachable, 'gw'), { recursive: true });
        // Port 1 is never in use.
        writeCredentials(unreachable, { ...server, url: 'http://127.0.0.1:1' });
        await using daemon = startDaemon(unreachable, ['gw'], {
          GATEWRIGHT_KUBERNETES_CONFIG: api.kubeconfig('admin'),
          GATEWRIGHT_KUBERNETES_STATUS: `${namespace}/early-status`,
        });
        const path = `/api/v1/namespaces/${namespace}/configmaps/early-status`;
        await eventually(async () => {
          const { data } = await api.request<{ data: object }>({ method: 'GET', path });
          expect(data).toMatchObject({ state: 'Degraded', message: expect.stringContaining(':1') });
        });
        daemon.child.kill('SIGTERM');
        await daemon.ended;
      } finally {
        rmSync(unreachable, { recursive: true, force: true });
      }
    });

    it('stands by while the cluster is unreachable, and continues afterwards', async () => {
      await using daemon = start();
      await daemon.find(leads);
      const led = daemon.events.length;
      await api.stop();
      const { leader } = await daemon.find(({ event }) => event === 'standby', led);
      expect(leader).toContain('is out of reach');
      write('meanwhile');
      const before = daemon.events.length;
      await api.start();
      await daemon.find(leads, before);
      await eventually(async () => expect(await readDescription()).toBe('meanwhile'));
      await eventually(async () => expect((await readStatus()).state).toBe('Synced'));
      daemon.child.kill('SIGTERM');
      expect(await daemon.ended).toEqual({ exitCode: 0, stderr: '' });
    });

    it('exits with the name of the setting when no cluster is configured', async () => {
      await using daemon = startDaemon(folder, ['gw'], {
        GATEWRIGHT_KUBERNETES_STATUS: `${namespace}/sync-status`,
      });
      const { exitCode, stderr } = await daemon.ended;
      expect(exitCode).toBe(5);
      expect(stderr).toContain('name a kubeconfig in GATEWRIGHT_KUBERNETES_CONFIG');
    });
  },
);
