/** Verifies the logins of integrations at Google Cloud and Entra ID with token servers that check what they receive. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requestCloudToken } from '../../../../src/gateway/logins/cloud-token.ts';
import { MachineIdentity } from '../../../../src/secret-managers/machine-identity.ts';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { testSettings } from '../../../support/server/server.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../../support/upstream/upstream.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const email = 'gateway@our-project.iam.gserviceaccount.com';
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const clientSecret = 'canary-entra-secret';
const adToken = 'canary-ad-token';
const folder = mkdtempSync(join(tmpdir(), 'cloud-logins-'));
const tokenFile = join(folder, 'token');
let inference: Inference;
/** May not use the identity of the gateway. */
let strict: Inference;
let issuer: TestUpstream;
let granted: string[];
let faults: string[];

const root = (url: string) => url.replace(/\/v1$/, '');
const formOf = (body: Buffer) => Object.fromEntries(new URLSearchParams(body.toString()));

/** Grants a token when the request is one that Google or Entra ID would accept. */
async function grantFor(url: string, body: Buffer): Promise<object | null> {
  const token = `canary-token-${randomUUID()}`;
  const grant = () => {
    granted.push(token);
    return { access_token: token, token_type: 'Bearer', expires_in: 3599 };
  };
  const form = formOf(body);
  if (url === '/token') {
    const options = { audience: `${root(issuer.url)}/token`, issuer: email, subject: email };
    const { payload, protectedHeader } = await jwtVerify(form.assertion ?? '', publicKey, options);
    const isGrant = form.grant_type === 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const isWhole = payload.scope === scope && protectedHeader.kid === 'key-1' && isGrant;
    return isWhole && payload.exp! - payload.iat! === 3600 ? grant() : null;
  }
  if (url === '/sts') {
    await jwtVerify(form.subject_token ?? '', publicKey, { subject: 'pod' });
    const isGrant = form.grant_type === 'urn:ietf:params:oauth:grant-type:token-exchange';
    return isGrant && form.audience === '//iam/pool' && form.scope === scope ? grant() : null;
  }
  if (url === '/impersonate') {
    granted.push(token);
    return { accessToken: token, expireTime: '2030-01-01T00:00:00Z' };
  }
  if (url !== '/tenant.example/oauth2/v2.0/token') return null;
  const isScope = form.scope === 'https://cognitiveservices.azure.com/.default';
  if (form.grant_type !== 'client_credentials' || !isScope) return null;
  if (form.client_assertion !== undefined) {
    await jwtVerify(form.client_assertion, publicKey, { subject: 'pod' });
    return form.client_id === 'pod-client' ? grant() : null;
  }
  return form.client_secret === clientSecret && form.client_id === 'app' ? grant() : null;
}

beforeAll(async () => {
  issuer = await startUpstream();
  const trusted = readTrustedHosts('127.0.0.1');
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const azurePod = {
    authority: root(issuer.url),
    tenantId: 'tenant.example',
    clientId: 'pod-client',
    tokenFile,
  };
  const settings = testSettings().inference;
  inference = await startInference({
    trustedHosts,
    inference: { ...settings, signsInAsItself: true, azurePod },
  });
  strict = await startInference({ trustedHosts, inference: { ...settings, azurePod } });
  const podToken = await new SignJWT()
    .setProtectedHeader({ alg: 'RS256' })
    .setSubject('pod')
    .setExpirationTime('1h')
    .sign(privateKey);
  writeFileSync(tokenFile, `${podToken}\n`);
  writeFileSync(join(folder, 'token.json'), JSON.stringify({ id_token: podToken }));
});
beforeEach(() => {
  granted = [];
  faults = [];
  issuer.reached.length = 0;
  inference.upstream.reached.length = 0;
  strict.upstream.reached.length = 0;
  issuer.script = async ({ url, body }, response) => {
    const grant = await grantFor(url, body).catch((error: Error) => {
      faults.push(error.message);
      return null;
    });
    if (grant === null) sendJson(response, { error: 'invalid_grant' }, 400);
    else sendJson(response, grant);
  };
  for (const { upstream } of [inference, strict]) {
    upstream.script = (_, response) => sendJson(response, chatAnswer);
  }
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const keyJson = (more: object = {}) =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'our-project',
    private_key_id: 'key-1',
    private_key: pem,
    client_email: email,
    token_uri: `${root(issuer.url)}/token`,
    ...more,
  });
const workloadJson = (more: object = {}) =>
  JSON.stringify({
    type: 'external_account',
    audience: '//iam/pool',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${root(issuer.url)}/sts`,
    credential_source: { file: tokenFile },
    ...more,
  });
const vertex = (json: string) => ({
  vertex_project_id: 'our-project',
  vertex_service_account_json: json,
});
const entra = {
  azure_auth_mode: 'entra',
  azure_entra_tenant_id: 'tenant.example',
  azure_entra_client_id: 'app',
  azure_entra_client_secret: clientSecret,
};

/** Creates an integration and requests chats at it. */
async function chatsAt(
  service: string,
  configurations: object,
  { at = inference, count = 1 }: { at?: Inference; count?: number } = {},
) {
  const post = async (path: string, body: object) => {
    const made = await at.server.request('POST', path, { body });
    expect(made).toMatchObject({ status: 200 });
    return made.body;
  };
  const workspace = await post('/v2/workspaces', { name: randomUUID() });
  const { key } = await at.addKey({ workspace_id: workspace.id });
  const isAzure = service.startsWith('azure');
  const integration = await post('/v1/integrations', {
    name: randomUUID(),
    ai_provider_id: service,
    configurations: {
      custom_host: root(at.upstream.url),
      ...(isAzure && { azure_authority_url: root(issuer.url) }),
      ...configurations,
    },
  });
  const { slug } = await post('/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id: workspace.id,
  });
  const headers = { 'x-gateway-provider': `@${slug}` };
  const ask = () => at.chat(key, { config: null, headers, params: { model: 'gpt-4o' } });
  const answers = await Promise.all(Array.from({ length: count }, ask));
  return { answers, ask, integration };
}

const sentTokens = () => inference.upstream.reached.map(({ headers }) => headers.authorization);
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);

describe('a service account of Google', () => {
  it('signs an assertion once for concurrent requests, and again before the token expires', async () => {
    const { answers, ask } = await chatsAt('vertex-ai', vertex(keyJson()), { count: 8 });
    expect([statuses(answers), faults]).toEqual([Array(8).fill(200), []]);
    expect(granted).toHaveLength(1);
    expect(new Set(sentTokens())).toEqual(new Set([`Bearer ${granted[0]}`]));
    inference.server.clock.advance(3_500_000);
    expect((await ask()).status).toBe(200);
    expect(granted).toHaveLength(1);
    inference.server.clock.advance(60_000);
    issuer.script = (_, response) => {
      granted.push('canary-token-2');
      sendJson(response, { access_token: 'canary-token-2', expires_in: 3599 });
    };
    expect((await ask()).status).toBe(200);
    expect(sentTokens().at(-1)).toBe('Bearer canary-token-2');
    inference.server.clock.advance(-3_560_000);
  });

  it('names the project where the integration does not', async () => {
    const json = { vertex_service_account_json: keyJson() };
    const { answers } = await chatsAt('vertex-ai', json);
    expect(statuses(answers)).toEqual([200]);
    expect(inference.upstream.reached[0]!.url).toContain('/projects/our-project/');
  });

  it.each([
    ['is no JSON', () => 'not json', /not a JSON object/],
    ['has no key', () => keyJson({ private_key: undefined }), /no private_key/],
    ['has an invalid key', () => keyJson({ private_key: 'canary' }), /is not an RSA key/],
    ['is refused', () => keyJson({ client_email: 'other@x' }), /400 invalid_grant/],
    [
      'has an unsupported source',
      () => workloadJson({ credential_source: {} }),
      /credential_source/,
    ],
  ])('is 502 with the reason when it %s', async (_, json, reason) => {
    const { answers } = await chatsAt('vertex-ai', vertex(json()));
    expect(answers[0]).toMatchObject({
      status: 502,
      body: { error: { code: 'token_unavailable' } },
    });
    expect(answers[0]!.body.error.message).toMatch(reason);
    expect(inference.upstream.reached).toEqual([]);
  });
});

describe('a workload identity of Google', () => {
  it.each([
    ['a file', { file: tokenFile }],
    [
      'a file of JSON',
      {
        file: join(folder, 'token.json'),
        format: { type: 'json', subject_token_field_name: 'id_token' },
      },
    ],
  ])('is exchanged from %s', async (_, credential_source) => {
    const json = workloadJson({ credential_source });
    const { answers } = await chatsAt('vertex-ai', vertex(json));
    expect([statuses(answers), faults]).toEqual([[200], []]);
    expect(sentTokens()).toEqual([`Bearer ${granted[0]}`]);
  });

  it('impersonates a service account', async () => {
    const json = workloadJson({
      service_account_impersonation_url: `${root(issuer.url)}/impersonate`,
    });
    const { answers } = await chatsAt('vertex-ai', vertex(json));
    expect(statuses(answers)).toEqual([200]);
    expect(issuer.reached.at(-1)!.headers.authorization).toBe(`Bearer ${granted[0]}`);
    expect(sentTokens()).toEqual([`Bearer ${granted[1]}`]);
  });

  it('is sent to no host that is neither of Google nor trusted', async () => {
    const json = workloadJson({ token_url: 'https://sts.googleapis.com.evil.example/v1/token' });
    const { answers } = await chatsAt('vertex-ai', vertex(json));
    expect(answers[0]!.body.error.message).toContain('no host of Google');
  });

  it.each([
    ['vertex-ai', () => vertex(workloadJson())],
    ['vertex-ai', () => ({ vertex_project_id: 'p', vertex_auth_type: 'workloadIdentity' })],
    ['azure-openai', () => ({ azure_auth_mode: 'workload' })],
    ['azure-ai', () => ({ azure_auth_mode: 'managed' })],
  ])('needs the permission of the operator at %s', async (service, configurations) => {
    const { answers } = await chatsAt(service, configurations(), { at: strict });
    expect(answers[0]!.body.error).toMatchObject({ code: 'token_unavailable' });
    expect(answers[0]!.body.error.message).toContain('GATEWRIGHT_SECRETS_BY_OWN_IDENTITY');
    expect([issuer.reached, strict.upstream.reached]).toEqual([[], []]);
  });

  it('is not presented at a custom host that the operator does not trust', async () => {
    const custom_host = 'https://collector.example/v1';
    const { answers } = await chatsAt('azure-openai', { azure_auth_mode: 'workload', custom_host });
    expect(answers[0]!.body.error.code).toBe('custom_host_refused');
    expect(issuer.reached).toEqual([]);
  });
});

describe('a login at Entra ID', () => {
  it.each([
    ['azure-openai', entra],
    ['azure-ai', entra],
    ['azure-openai', { azure_auth_mode: 'workload' }],
  ])('obtains one token for %s with %o', async (service, configurations) => {
    const { answers } = await chatsAt(service, configurations, { count: 4 });
    expect([statuses(answers), faults]).toEqual([Array(4).fill(200), []]);
    expect(granted).toHaveLength(1);
    expect(new Set(sentTokens())).toEqual(new Set([`Bearer ${granted[0]}`]));
    expect(inference.upstream.reached[0]!.headers['api-key']).toBe(undefined);
  });

  it('sends a token that is renewed elsewhere', async () => {
    const { answers } = await chatsAt('azure-openai', { azure_ad_token: adToken });
    expect(statuses(answers)).toEqual([200]);
    expect(sentTokens()).toEqual([`Bearer ${adToken}`]);
  });

  it('names missing fields and invalid tenants', async () => {
    const refusalFor = async (more: object) =>
      (await chatsAt('azure-openai', { ...entra, ...more })).answers[0]!.body.error.message;
    expect(await refusalFor({ azure_entra_tenant_id: '' })).toContain('azure_entra_tenant_id');
    expect(await refusalFor({ azure_entra_tenant_id: '../x' })).toContain('azure_entra_tenant_id');
    expect(issuer.reached).toEqual([]);
  });

  it('uses the key where no mode is set', async () => {
    const { answers } = await chatsAt('azure-openai', { azure_auth_mode: 'default' });
    expect(statuses(answers)).toEqual([200]);
    expect(issuer.reached).toEqual([]);
  });
});

describe('the identity of a machine', () => {
  it.each([
    [
      { kind: 'google-machine', origin: 'o', endpoint: '' },
      '/computeMetadata/v1/instance/service-accounts/default/token',
      ['metadata-flavor', 'Google'],
    ],
    [
      {
        kind: 'azure-machine',
        origin: 'o',
        endpoint: '',
        clientId: 'c',
        scope: 'https://r/.default',
      },
      '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fr&client_id=c',
      ['metadata', 'true'],
    ],
  ] as const)('is read from the metadata service for %o', async (login, path, [name, value]) => {
    const token = { access_token: 'machine-token', expires_in: '3599' };
    issuer.script = (_, response) => sendJson(response, token);
    const machine = new MachineIdentity(new URL(root(issuer.url)));
    const outbound = { request: () => Promise.reject(new Error('unused')) };
    const awsCredentials = () => Promise.reject(new Error('unused'));
    const identity = { isAllowed: true, machine, azurePod: null, awsCredentials };
    const means = { outbound, trusted: [], identity };
    const granted = await requestCloudToken(login, means, 0);
    expect(granted).toEqual({ token: 'machine-token', lifeMs: 3_599_000 });
    expect(issuer.reached[0]!.url).toBe(path);
    expect(issuer.reached[0]!.headers[name]).toBe(value);
  });
});

describe('a secret of a cloud login', () => {
  it('appears in no response, log line, metric or table', async () => {
    const all = [
      await chatsAt('vertex-ai', vertex(keyJson())),
      await chatsAt('vertex-ai', vertex(keyJson({ private_key: 'canary-key' }))),
      await chatsAt('azure-openai', entra),
      await chatsAt('azure-openai', { azure_ad_token: adToken }),
    ];
    const { server } = inference;
    await logIsWritten(server);
    const metrics = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
    const read = await Promise.all(
      all.map(({ integration }) => server.request('GET', `/v1/integrations/${integration.id}`)),
    );
    const texts = JSON.stringify([
      all.map(({ answers }) => answers),
      server.logLines,
      metrics.body,
      read.map(({ body }) => body),
      await dumpDatabase(server.database.db),
    ]);
    const body = pem.split('\n')[3]!;
    for (const text of [clientSecret, adToken, 'canary-key', body, ...granted]) {
      expect([text, texts.includes(text)]).toEqual([text, false]);
    }
  });
});
