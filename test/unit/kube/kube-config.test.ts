/** Tests which parts of a kubeconfig and of a pod's account are used, and the error for each that cannot be. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { KubeClient } from '../../../src/kube/kube-client.ts';
import { loadKubeConfig } from '../../../src/kube/kube-config.ts';
import { type KubeCredentials, KubeLogin } from '../../../src/kube/kube-credentials.ts';
import { readKubernetesValue } from '../../../src/sync/sinks/kubernetes-values.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gatewright-kubeconfig-'));
  writeFileSync(join(home, 'ca.crt'), 'CA OF FILE');
  writeFileSync(join(home, 'token'), 'canary-1\n');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly more?: object;
}

function loginWith(parts: Parts, msMax?: number): KubeLogin {
  writeConfig(parts);
  return new KubeLogin(() => loadKubeConfig(join(home, 'config')), msMax);
}

function writeConfig({ cluster = {}, user = { token: 'canary-2' }, more = {} }: Parts): void {
  const config = {
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'x', user: 'y' } },
      { name: 'here', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://c.example.com:6443/k', ...cluster } }],
    users: [{ name: 'u', user }],
    ...more,
  };
  writeFileSync(join(home, 'config'), JSON.stringify(config));
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const textsOf = ({ tls }: KubeCredentials): Record<string, string> =>
  Object.fromEntries(Object.entries(tls).map(([name, value]) => [name, String(value)]));

function writeProgram(name: string, script: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const execOf = (command: string, more: object = {}): object => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command, ...more },
});

describe('a kubeconfig', () => {
  it('selects the cluster and the user of the current context', async () => {
    const login = loginWith({ cluster: { 'certificate-authority': 'ca.crt' } });
    const credentials = await login.current();
    expect(login.config.getCurrentCluster()?.server).toBe('https://c.example.com:6443/k');
    expect(credentials.headers).toEqual({ authorization: 'Bearer canary-2' });
    expect(textsOf(credentials)).toEqual({ ca: 'CA OF FILE' });
  });

  it('supplies certificates as text and the name that the server certificate must have', async () => {
    const login = loginWith({
      cluster: {
        'certificate-authority-data': base64('CA'),
        'tls-server-name': 'kubernetes.default',
      },
      user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('canary-3') },
    });
    const credentials = await login.current();
    expect(credentials.headers).toEqual({});
    expect(textsOf(credentials)).toEqual({
      ca: 'CA',
      cert: 'CERT',
      key: 'canary-3',
      servername: 'kubernetes.default',
    });
  });

  it.each<[string, Parts, string]>([
    ['no such context', { more: { 'current-context': 'else' } }, 'contexts has no entry else'],
    ['no current context', { more: { 'current-context': '' } }, 'no entry for current-context'],
    ['no such user', { more: { users: [] } }, 'users has no entry u'],
    ['an address without TLS', { cluster: { server: 'http://c' } }, 'an https:// address'],
    ['TLS unchecked', { cluster: { 'insecure-skip-tls-verify': true } }, 'is not permitted'],
    ['a SOCKS proxy', { cluster: { 'proxy-url': 'socks5://p' } }, 'proxy-url must be'],
    ['a legacy login', { user: { 'auth-provider': { name: 'gcp' } } }, 'use exec'],
    ['no credential', { user: {} }, 'its user needs token'],
    ['a file that is gone', { user: { 'client-certificate': 'gone' } }, 'cannot be read (ENOENT)'],
  ])('throws one error that names the file: %s', (_, parts, message) => {
    const load = (): unknown => loginWith(parts);
    expect(load).toThrow(message);
    expect(load).toThrow(join(home, 'config'));
  });

  it('throws an error that quotes nothing of a file that is not YAML', () => {
    writeFileSync(join(home, 'config'), 'token: "canary-5\n  x: [');
    const load = (): unknown => loadKubeConfig(join(home, 'config'));
    expect(load).toThrow('it is not a kubeconfig in YAML');
    expect(load).not.toThrow('canary');
  });
});

describe('a token that changes', () => {
  it.each(['tokenFile', 'the account of a pod'])('renews the token of %s', async (origin) => {
    const account = join(home, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(account, { recursive: true });
    writeFileSync(join(account, 'ca.crt'), 'CA OF POD');
    const file = origin === 'tokenFile' ? join(home, 'token') : join(account, 'token');
    writeFileSync(file, 'canary-1\n');
    const login =
      origin === 'tokenFile'
        ? loginWith({ user: { tokenFile: 'token' } })
        : new KubeLogin(() => loadKubeConfig(null, home));
    expect((await login.current()).headers).toEqual({ authorization: 'Bearer canary-1' });
    writeFileSync(file, 'canary-4');
    expect((await login.renewed()).headers).toEqual({ authorization: 'Bearer canary-4' });
    if (origin !== 'tokenFile') {
      expect(login.config.getCurrentCluster()?.server).toBe('https://kubernetes.default.svc');
      expect(textsOf(await login.current())).toEqual({ ca: 'CA OF POD' });
    }
  });

  it('throws an error that names the setting outside of a pod without a kubeconfig', () => {
    expect(() => loadKubeConfig(null, join(home, 'no account'))).toThrow(
      'GATEWRIGHT_KUBERNETES_CONFIG',
    );
  });
});

describe('a login program', () => {
  const credential = (token: string): string =>
    JSON.stringify({ kind: 'ExecCredential', status: { token } });

  it('supplies the token with the arguments and variables of its entry, and runs once', async () => {
    const runs = join(home, 'runs');
    writeProgram(
      'login',
      `echo "$1 $REGION $KUBERNETES_EXEC_INFO" >> ${runs}; echo '${credential('canary-6')}'`,
    );
    const more = { args: ['get-token'], env: [{ name: 'REGION', value: 'eu' }] };
    const login = loginWith({ user: execOf('./login', more) });
    const all = await Promise.all([login.current(), login.current()]);
    for (const { headers } of [...all, await login.current()]) {
      expect(headers).toEqual({ authorization: 'Bearer canary-6' });
    }
    const lines = readFileSync(runs, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^get-token eu \{"apiVersion":"client\.authentication\.k8s\.io\/v1"/);
  });

  it.each<[string, string, string]>([
    ['fails', 'echo first >&2; echo "please log in" >&2; exit 1', 'failed: please log in'],
    ['prints no JSON', 'echo "canary-7 {"', 'its output is not JSON'],
  ])('throws an error that quotes no output when it %s', async (_, script, message) => {
    writeProgram('login', script);
    const login = loginWith({ user: execOf('./login') });
    const error = await login.current().catch((reason: Error) => reason);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('canary');
  });

  it('throws an error that names a program that does not exist', async () => {
    const login = loginWith({ user: execOf('no-such-program') });
    await expect(login.current()).rejects.toThrow(
      'the login program no-such-program of the kubeconfig cannot be started (ENOENT)',
    );
  });

  it('times out', async () => {
    writeProgram('login', 'exec sleep 2');
    const login = loginWith({ user: execOf('./login') }, 50);
    await expect(login.current()).rejects.toThrow('takes longer than 50 ms');
  });
});

it('reports a missing kubeconfig as a fault of the setting, not of a right in the cluster', async () => {
  const value = await readKubernetesValue(
    {
      namespaces: ['n'],
      connect: async () =>
        new KubeClient({
          config: join(home, 'none'),
          clock: systemClock,
          pause: async () => undefined,
        }),
    },
    { from: 'kubernetesSecret', namespace: 'n', name: 's', key: 'k' },
  );
  expect(value).toMatchObject({
    code: 'secret-refused',
    message: expect.stringContaining('none cannot be read'),
    fix: expect.stringContaining('GATEWRIGHT_KUBERNETES_CONFIG'),
  });
});
