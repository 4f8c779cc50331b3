/** Tests logins at a real Kubernetes by programs (`exec`) and token files, and the renewal of rejected tokens. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { KubeClient } from '../../src/kube/kube-client.ts';
import { getObject, listSecrets } from '../../src/kube/kube-objects.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

describe.skipIf(unavailable !== null)(
  `a login at a cluster${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let folder: string;
    const open: KubeClient[] = [];

    beforeAll(async () => {
      api = await startKubernetesApi();
      folder = mkdtempSync(join(tmpdir(), 'gatewright-logins-'));
    });
    afterAll(async () => {
      await Promise.all(open.map((client) => client[Symbol.asyncDispose]()));
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      await api?.[Symbol.asyncDispose]();
    });

    /** A client with the cluster of `admin` and another user entry. */
    function clientWith(user: object): KubeClient {
      const config = JSON.parse(readFileSync(api.kubeconfig('admin'), 'utf8'));
      config.users = [{ name: 'admin', user }];
      const path = join(folder, 'config');
      writeFileSync(path, JSON.stringify(config));
      const client = new KubeClient({
        config: path,
        clock: systemClock,
        pause: async () => undefined,
      });
      open.push(client);
      return client;
    }

    it('uses the token of a program, and runs the program again when the cluster rejects it', async () => {
      const token = join(folder, 'exec-token');
      const program = join(folder, 'get-token');
      const credential = '{"kind":"ExecCredential","status":{"token":"%s"}}';
      writeFileSync(program, `#!/bin/sh\nprintf '${credential}' "$(cat ${token})"\n`);
      chmodSync(program, 0o755);
      const apiVersion = 'client.authentication.k8s.io/v1';
      const client = clientWith({
        exec: { apiVersion, command: './get-token', interactiveMode: 'Never' },
      });
      writeFileSync(token, 'revoked-token');
      await expect(listSecrets(client, 'default', {})).rejects.toThrow(
        'the credential is not accepted',
      );
      writeFileSync(token, 'token-of-admin');
      expect(await listSecrets(client, 'default', {})).toEqual([]);
    });

    it('reads a token file again when the cluster rejects the token', async () => {
      const token = join(folder, 'token');
      writeFileSync(token, 'revoked-token\n');
      const client = clientWith({ tokenFile: 'token' });
      await expect(getObject(client, 'secrets', 'default', 'none')).rejects.toThrow(
        'the credential is not accepted',
      );
      writeFileSync(token, 'token-of-admin\n');
      expect(await getObject(client, 'secrets', 'default', 'none')).toBeNull();
    });
  },
);
