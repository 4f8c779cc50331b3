/** Guarantees what of a kubeconfig and of a pod's account is used, and one clear error for what cannot be. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { type KubeAccess, readKubeAccess } from '../../../src/kube/kube-access.ts';
import { KubeClient } from '../../../src/kube/kube-client.ts';
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

function accessOf({ cluster = {}, user = { token: 'canary-2' }, more = {} }: Parts): KubeAccess {
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
  return readKubeAccess(join(home, 'config'));
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

it('takes the cluster and the user of the current context', () => {
  const access = accessOf({ cluster: { 'certificate-authority': 'ca.crt' } });
  expect(access).toMatchObject({ ca: 'CA OF FILE', certificate: null, serverName: null });
  expect(access.server.href).toBe('https://c.example.com:6443/k');
  expect(access.token()?.reveal()).toBe('canary-2');
  expect(JSON.stringify([access, access.token()])).not.toContain('canary');
});

it('takes certificates from files and from text, and text before files', () => {
  const access = accessOf({
    cluster: { 'certificate-authority': 'ca.crt', 'certificate-authority-data': base64('CA') },
    user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('canary-3') },
  });
  expect(access.ca).toBe('CA');
  expect(access.certificate?.cert).toBe('CERT');
  expect(access.certificate?.key.reveal()).toBe('canary-3');
  expect(access.token()).toBe(null);
});

it.each(['tokenFile', 'the account of a pod'])('reads the token of %s again each time', (whose) => {
  const access =
    whose === 'tokenFile' ? accessOf({ user: { tokenFile: 'token' } }) : readKubeAccess(null, home);
  expect(access.token()?.reveal()).toBe('canary-1');
  writeFileSync(join(home, 'token'), 'canary-4');
  expect(access.token()?.reveal()).toBe('canary-4');
  writeFileSync(join(home, 'token'), 'canary-1\n');
  if (whose !== 'tokenFile') expect(access.server.href).toBe('https://kubernetes.default.svc/');
});

it.each<[string, Parts, string]>([
  ['no such context', { more: { 'current-context': 'else' } }, 'contexts has no entry else'],
  ['no current context', { more: { 'current-context': '' } }, 'no entry for current-context'],
  ['no such user', { more: { users: [] } }, 'users has no entry u'],
  ['an address without TLS', { cluster: { server: 'http://c' } }, 'an https:// address'],
  ['TLS unchecked', { cluster: { 'insecure-skip-tls-verify': true } }, 'is not permitted'],
  ['a program', { user: { exec: { command: 'aws' } } }, 'programs (exec)'],
  ['a file that is gone', { user: { 'client-certificate': 'gone' } }, 'cannot be read (ENOENT)'],
])('%s is one error that names the file', (_, parts, message) => {
  const found = (): unknown => accessOf(parts);
  expect(found).toThrow(message);
  expect(found).toThrow(join(home, 'config'));
});

it('quotes nothing of a file that is no YAML', () => {
  writeFileSync(join(home, 'config'), 'token: "canary-5\n  x: [');
  const found = (): unknown => readKubeAccess(join(home, 'config'));
  expect(found).toThrow('it is no YAML');
  expect(found).not.toThrow('canary');
});

it('outside of a pod and without a kubeconfig the setting to make is named', () => {
  expect(() => readKubeAccess(null, join(home, 'no account'))).toThrow(
    'GATEWRIGHT_KUBERNETES_CONFIG',
  );
});

it('is what a value of it asks for where it cannot be had, and not a right in the cluster', async () => {
  const read = await readKubernetesValue(
    {
      namespaces: ['n'],
      connect: async () =>
        new KubeClient(readKubeAccess(join(home, 'none')), systemClock, async () => undefined),
    },
    { from: 'kubernetesSecret', namespace: 'n', name: 's', key: 'k' },
  );
  expect(read).toMatchObject({
    code: 'secret-refused',
    message: expect.stringContaining('none cannot be read'),
    fix: expect.stringContaining('GATEWRIGHT_KUBERNETES_CONFIG'),
  });
});
