/**
 * Tests how values are read from secret managers: authentication, field selection, and refusal
 * distinguished from silence.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { AuthConfig, ManagerType } from '../../../src/model/secrets/secret-manager.ts';
import { Secret } from '../../../src/secret.ts';
import { type ManagedSecret, textOf } from '../../../src/secret-managers/managed-secret.ts';
import { SecretManagers } from '../../../src/secret-managers/secret-managers.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { stsResponse } from '../../support/upstream/bedrock.ts';
import {
  type ManagerServer,
  type ReceivedRequest,
  signerOf,
  startManager,
  startVaultServer,
  type VaultContent,
} from '../../support/upstream/secret-manager-servers.ts';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

async function listen(starting: Promise<ManagerServer>): Promise<ManagerServer> {
  const server = await starting;
  opened.push(server);
  return server;
}

interface Means {
  trusted?: string;
  mayBeItself?: boolean;
  metadata?: string;
}

let now = 1_700_000_000_000;

function managersWith({ trusted = '127.0.0.1', mayBeItself = false, metadata }: Means = {}) {
  const read = readTrustedHosts(trusted);
  const managers = new SecretManagers({
    trusted: 'hosts' in read ? read.hosts : [],
    allowsOwnIdentity: mayBeItself,
    clock: { now: () => now },
    onRead: () => undefined,
    ...(metadata === undefined ? {} : { metadata: new URL(metadata) }),
  });
  opened.push(managers);
  return (managerType: ManagerType, path: string, auth: AuthConfig): Promise<ManagedSecret> =>
    managers.read({
      id: 'r',
      organisationId: 'o',
      mark: 'm',
      managerType,
      path,
      auth: new Secret(auth, 'test'),
    });
}

describe('Vault', () => {
  const content = (more: Partial<VaultContent> = {}): VaultContent => ({
    mounts: { 'kv/': '1', 'secret/': '2', 'team/kv/': '2' },
    secrets: {
      'kv/openai': { api_key: 'one' },
      'secret/openai': { api_key: 'two', other: 'x' },
      'team/kv/a b/openai': { api_key: 'three' },
    },
    tokens: new Set(['hvs.root']),
    ...more,
  });
  const byToken = (url: string): AuthConfig => ({
    vault_auth_type: 'token',
    vault_addr: url,
    vault_token: 'hvs.root',
  });

  it.each([
    ['kv/openai', 'one'],
    ['secret/openai', 'two'],
    ['secret/data/openai', 'two'],
    ['/team/kv/data/a b/openai/', 'three'],
  ])('returns the fields of %s, in either version of the engine', async (path, value) => {
    for (const hidesMounts of [false, true]) {
      const vault = await listen(startVaultServer(content({ hidesMounts })));
      const read = managersWith();
      const found = read('hashicorp_vault', path, byToken(vault.url));
      // Without a list of mounts, the path must be that of the API.
      if (hidesMounts && path === 'secret/openai') await expect(found).rejects.toThrow('404');
      else await expect(found).resolves.toMatchObject({ api_key: value });
    }
  });

  it('authenticates with an AppRole, in a namespace, once for many values', async () => {
    const vault = await listen(startVaultServer(content()));
    const read = managersWith();
    const auth = {
      vault_auth_type: 'approle',
      vault_addr: vault.url,
      vault_namespace: 'team',
      vault_role_id: 'role',
      vault_secret_id: 'secret-id',
    };
    await Promise.all([1, 2, 3].map(() => read('hashicorp_vault', 'kv/openai', auth)));
    const signIns = vault.received.filter(({ path }) => path.endsWith('/login'));
    expect(signIns).toHaveLength(1);
    expect(vault.received.map(({ headers }) => headers['x-vault-namespace'])).toEqual(
      vault.received.map(() => 'team'),
    );
  });

  it('denies a missing token or secret, and is unavailable when it does not answer', async () => {
    const one = content();
    const vault = await listen(startVaultServer(one));
    const read = managersWith();
    const reject = (path: string, auth: AuthConfig, isUnavailable: boolean) =>
      expect(read('hashicorp_vault', path, auth)).rejects.toMatchObject({ isUnavailable });
    await reject('kv/nothing', byToken(vault.url), false);
    const other = managersWith();
    await expect(
      other('hashicorp_vault', 'kv/openai', { ...byToken(vault.url), vault_token: 'canary' }),
    ).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.not.stringContaining('canary'),
    });
    one.outage = 503;
    await expect(
      managersWith()('hashicorp_vault', 'kv/openai', byToken(vault.url)),
    ).rejects.toMatchObject({ isUnavailable: true });
  });

  it('is not called at a private address that is not trusted', async () => {
    const vault = await listen(startVaultServer(content()));
    const read = managersWith({ trusted: 'elsewhere.example.com' });
    await expect(read('hashicorp_vault', 'kv/openai', byToken(vault.url))).rejects.toThrow(
      /TRUSTED_CUSTOM_HOSTS/,
    );
    expect(vault.received).toEqual([]);
  });

  it('receives the account of the pod only where the operator allows it, and at a trusted address', async () => {
    const auth = { vault_auth_type: 'kubernetes', vault_addr: 'http://8.8.8.8', vault_role: 'r' };
    const refused = managersWith()('hashicorp_vault', 'kv/openai', auth);
    await expect(refused).rejects.toThrow(/GATEWRIGHT_SECRETS_BY_OWN_IDENTITY/);
    const elsewhere = managersWith({ mayBeItself: true })('hashicorp_vault', 'kv/openai', auth);
    await expect(elsewhere).rejects.toThrow(/TRUSTED_CUSTOM_HOSTS/);
  });
});

describe('AWS Secrets Manager', () => {
  const keys = { AKIAOWN: 'own secret/+', ASIAROLE: 'role secret', ASIAMACHINE: 'machine secret' };
  const isAssumption = ({ body }: ReceivedRequest) => body.startsWith('Action=AssumeRole&');
  const answer = (request: ReceivedRequest) => {
    const by = signerOf(request, keys);
    if (by === null) return { status: 403, body: { __type: 'InvalidSignatureException' } };
    if (isAssumption(request)) {
      if (new URLSearchParams(request.body).get('ExternalId') !== 'ext') {
        return { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' };
      }
      const assumed = {
        accessKeyId: 'ASIAROLE',
        secretAccessKey: keys.ASIAROLE,
        sessionToken: 'session',
      };
      return { status: 200, body: stsResponse(assumed, now + 900_000) };
    }
    const { SecretId } = JSON.parse(request.body);
    if (SecretId === 'binary') {
      return { status: 200, body: { SecretBinary: Buffer.from('bytes').toString('base64') } };
    }
    if (SecretId !== 'prod/openai') {
      return { status: 400, body: { __type: 'ResourceNotFoundException' } };
    }
    return { status: 200, body: { SecretString: JSON.stringify({ api_key: `by ${by}` }) } };
  };
  const byKey = (url: string): AuthConfig => ({
    aws_auth_type: 'accessKey',
    aws_access_key_id: 'AKIAOWN',
    aws_region: 'eu-central-1',
    aws_secret_access_key: keys.AKIAOWN,
    aws_endpoint_url: url,
  });

  it('accepts the signature of the request', async () => {
    const aws = await listen(startManager(answer));
    const read = managersWith();
    const stored = await read('aws_sm', 'prod/openai', byKey(aws.url));
    expect(textOf(stored, 'api_key')).toBe('by AKIAOWN');
    expect(await read('aws_sm', 'binary', byKey(aws.url))).toBe('bytes');
    expect(aws.received[0]!.headers['x-amz-target']).toBe('secretsmanager.GetSecretValue');
    await expect(read('aws_sm', 'nothing', byKey(aws.url))).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.stringContaining('ResourceNotFoundException'),
    });
    const wrong = { ...byKey(aws.url), aws_secret_access_key: 'canary' };
    await expect(managersWith()('aws_sm', 'prod/openai', wrong)).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.not.stringContaining('canary'),
    });
  });

  it('is called with the role of the machine, or with one that this assumes, until it expires', async () => {
    const aws = await listen(startManager(answer));
    const machine = await listen(
      startManager(({ method, path, headers }) => {
        if (method === 'PUT') return { status: 200, body: 'imds-token' };
        if (headers['x-aws-ec2-metadata-token'] !== 'imds-token') return { status: 401 };
        if (path.endsWith('/')) return { status: 200, body: 'gateway-role\n' };
        return {
          status: 200,
          body: {
            AccessKeyId: 'ASIAMACHINE',
            SecretAccessKey: keys.ASIAMACHINE,
            Token: 'own',
            Expiration: new Date(now + 3_600_000).toISOString(),
          },
        };
      }),
    );
    const read = managersWith({ mayBeItself: true, metadata: machine.url });
    const endpoints = { aws_endpoint_url: aws.url, aws_sts_endpoint_url: aws.url };
    const own = { aws_auth_type: 'serviceRole', aws_region: 'eu-central-1', ...endpoints };
    expect(textOf(await read('aws_sm', 'prod/openai', own), 'api_key')).toBe('by ASIAMACHINE');
    expect(aws.received[0]!.headers['x-amz-security-token']).toBe('own');
    const role = { ...own, aws_auth_type: 'assumedRole', aws_role_arn: 'arn:aws:iam::1:role/a b' };
    const assume = managersWith({ mayBeItself: true, metadata: machine.url });
    const assumed = { ...role, aws_external_id: 'ext' };
    const readAs = async () => textOf(await assume('aws_sm', 'prod/openai', assumed), 'api_key');
    expect([await readAs(), await readAs()]).toEqual(['by ASIAROLE', 'by ASIAROLE']);
    const requested = () => aws.received.filter(isAssumption).length;
    expect(requested()).toBe(1);
    now += 676_000;
    await readAs();
    expect(requested()).toBe(2);
    const denied = managersWith({ mayBeItself: true, metadata: machine.url });
    await expect(denied('aws_sm', 'prod/openai', role)).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.stringContaining('AccessDenied'),
    });
    await expect(managersWith()('aws_sm', 'prod/openai', own)).rejects.toThrow(
      /GATEWRIGHT_SECRETS_BY_OWN_IDENTITY/,
    );
  });
});

describe('Azure Key Vault', () => {
  const answer = ({ method, path, query, headers, body }: ReceivedRequest) => {
    if (method === 'POST') {
      const form = new URLSearchParams(body);
      const isRight =
        path === '/tenant/oauth2/v2.0/token' &&
        form.get('client_secret') === 'secret&+' &&
        form.get('scope') === 'https://vault.azure.net/.default';
      if (!isRight) return { status: 401, body: { error: 'invalid_client' } };
      return { status: 200, body: { access_token: 'token', expires_in: 3599 } };
    }
    if (path === '/metadata/identity/oauth2/token') {
      if (headers.metadata !== 'true' || query.get('client_id') !== 'mine') return { status: 400 };
      return { status: 200, body: { access_token: 'token', expires_in: '86399' } };
    }
    if (headers.authorization !== 'Bearer token') return { status: 401 };
    if (path !== '/secrets/openai' || query.get('api-version') !== '7.4') {
      return { status: 404, body: { error: { code: 'SecretNotFound' } } };
    }
    return { status: 200, body: { value: 'sk-azure' } };
  };

  it('authenticates at Entra ID, and caches the token until it expires', async () => {
    const azure = await listen(startManager(answer));
    const read = managersWith();
    const auth = {
      azure_auth_mode: 'entra',
      azure_vault_url: azure.url,
      azure_authority_url: azure.url,
      azure_entra_tenant_id: 'tenant',
      azure_entra_client_id: 'c',
      azure_entra_client_secret: 'secret&+',
    };
    expect(await read('azure_kv', 'openai', auth)).toBe('sk-azure');
    expect(await read('azure_kv', 'openai', auth)).toBe('sk-azure');
    const signIns = () => azure.received.filter(({ method }) => method === 'POST').length;
    expect(signIns()).toBe(1);
    now += 3_400_000;
    await read('azure_kv', 'openai', auth);
    expect(signIns()).toBe(2);
    await expect(read('azure_kv', 'nothing', auth)).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.stringContaining('SecretNotFound'),
    });
    const wrong = { ...auth, azure_entra_client_secret: 'canary' };
    await expect(managersWith()('azure_kv', 'openai', wrong)).rejects.toMatchObject({
      isUnavailable: false,
      message: expect.not.stringContaining('canary'),
    });
  });

  it('authenticates with the identity of the machine where the operator allows it', async () => {
    const azure = await listen(startManager(answer));
    const auth = {
      azure_auth_mode: 'managed',
      azure_vault_url: azure.url,
      azure_managed_client_id: 'mine',
    };
    const read = managersWith({ mayBeItself: true, metadata: azure.url });
    expect(await read('azure_kv', 'openai', auth)).toBe('sk-azure');
    const elsewhere = { ...auth, azure_vault_url: 'https://collector.example.com' };
    const other = managersWith({ mayBeItself: true, metadata: azure.url });
    await expect(other('azure_kv', 'openai', elsewhere)).rejects.toThrow(/TRUSTED_CUSTOM_HOSTS/);
  });
});

describe('the text of a secret', () => {
  it.each<[ManagedSecret, string | null, string]>([
    ['plain\n', null, 'plain'],
    [{ only: 'one' }, null, 'one'],
    [{ a: 1, b: 2 }, null, '{"a":1,"b":2}'],
    [{ a: { b: 2 } }, 'a', '{"b":2}'],
    ['{"a":"x\\r\\n"}', 'a', 'x'],
  ])('extracts from %j by %s: %j', (stored, field, text) => {
    expect(textOf(stored, field)).toBe(text);
  });

  it('is missing for a field that the secret does not have', () => {
    expect(() => textOf('plain', 'toString')).toThrow(/no field toString/);
    expect(() => textOf({ a: 'b' }, 'constructor')).toThrow(/no field/);
  });
});
