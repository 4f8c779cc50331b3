/** Verifies the credentials with which models of Bedrock are called: keys, roles, and identities of pod and machine. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AwsSettings } from '../../../../src/settings/groups/aws.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { testSettings } from '../../../support/server/server.ts';
import {
  stsResponse,
  type TestCredentials,
  verifySignature,
} from '../../../support/upstream/bedrock.ts';
import {
  type ManagerServer,
  startVaultServer,
} from '../../../support/upstream/secret-manager-servers.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../../support/upstream/upstream.ts';

const staticKey: TestCredentials = {
  accessKeyId: 'AKIACANARYSTATIC',
  secretAccessKey: 'canary/static+secret',
};
const model = 'openai.gpt-oss-20b-1:0';
let sts: TestUpstream;
let agent: TestUpstream;
let vault: ManagerServer;
const vaultSecrets: Record<string, Record<string, unknown>> = {};
let folder: string;
/** Uses the web identity of its pod. */
let ofRole: Gateway;
/** Uses the agent on the node of its pod. */
let ofAgent: Gateway;
/** Credentials that STS and the agent have issued, in order. */
let issued: TestCredentials[];
let lifeMs: number;
const revoked = new Set<string>();

interface Gateway {
  readonly inference: Inference;
  readonly workspaceId: string;
  readonly key: string;
}

async function startGateway(pod: AwsSettings['pod'], own = true): Promise<Gateway> {
  const settings = testSettings();
  const inference = await startInference({
    trustedHosts: [{ text: '127.0.0.1', port: null, covers: (host) => host === '127.0.0.1' }],
    inference: {
      ...settings.inference,
      signsInAsItself: own,
      aws: { pod, sts: new URL(sts.url.replace('/v1', '')) },
    },
  });
  inference.upstream.script = async (request, response) => {
    response.setHeader('date', new Date(inference.server.clock.now()).toUTCString());
    const known = [staticKey, ...issued];
    const signature = await verifySignature(request, known);
    const isRevoked = signature !== null && revoked.has(signature.accessKeyId);
    if (signature !== null && !isRevoked) return sendJson(response, chatAnswer);
    const error = isRevoked ? 'ExpiredTokenException' : 'InvalidSignatureException';
    response.setHeader('x-amzn-errortype', `${error}:http://internal`);
    return sendJson(response, { message: 'refused' }, 403);
  };
  const { id: workspaceId } = await post(inference, '/v2/workspaces', { name: 'Support' });
  const { key } = await inference.addKey({ workspace_id: workspaceId });
  return { inference, workspaceId, key };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bedrock-'));
  await writeFile(join(folder, 'token'), 'canary-pod-token\n');
  sts = await startUpstream();
  agent = await startUpstream();
  vault = await startVaultServer({
    mounts: { 'secret/': '2' },
    secrets: vaultSecrets,
    tokens: new Set(['hvs.root']),
  });
  const tokenFile = join(folder, 'token');
  ofRole = await startGateway({
    kind: 'webIdentity',
    roleArn: 'arn:aws:iam::1:role/pod',
    tokenFile,
  });
  const address = new URL(agent.url.replace('/v1', '/v1/credentials'));
  ofAgent = await startGateway({ kind: 'container', address, tokenFile });
});
beforeEach(() => {
  issued = [];
  lifeMs = 3_600_000;
  revoked.clear();
  sts.reached.length = 0;
  agent.reached.length = 0;
  ofRole.inference.upstream.reached.length = 0;
  ofAgent.inference.upstream.reached.length = 0;
  sts.script = (_, response) => {
    response.end(stsResponse(issue(), expiry(ofRole)));
  };
  agent.script = (_, response) => {
    const { accessKeyId, secretAccessKey, sessionToken } = issue();
    sendJson(response, {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      Token: sessionToken,
      Expiration: new Date(expiry(ofAgent)).toISOString(),
    });
  };
});
afterAll(async () => {
  for (const { inference } of [ofRole, ofAgent]) await inference[Symbol.asyncDispose]();
  for (const one of [sts, agent, vault]) await one[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const expiry = ({ inference }: Gateway) => inference.server.clock.now() + lifeMs;

function issue(): TestCredentials {
  const credentials = {
    accessKeyId: `ASIA${issued.length}`,
    secretAccessKey: `canary-${randomUUID()}`,
    sessionToken: `canary-${randomUUID()}`,
  };
  issued.push(credentials);
  return credentials;
}

async function post({ server }: Inference, path: string, body: object) {
  const made = await server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

/** Creates an integration and a provider on it. */
async function providerWith(
  { inference, workspaceId }: Gateway,
  configurations: object,
  more: object = {},
) {
  const integration = await post(inference, '/v1/integrations', {
    name: randomUUID(),
    ai_provider_id: 'bedrock',
    configurations: {
      custom_host: inference.upstream.url.replace('/v1', ''),
      aws_region: 'eu-central-1',
      ...configurations,
    },
    ...more,
  });
  const { slug } = await post(inference, '/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id: workspaceId,
  });
  return { slug, integration };
}

const chat = ({ inference, key }: Gateway, headers: Record<string, string>) =>
  exchange(
    'POST',
    `${inference.server.inferenceUrl}/v1/chat/completions`,
    { model, messages: [{ role: 'user', content: 'hello' }] },
    { authorization: `Bearer ${key}`, ...headers },
  );
const chatAt = (gateway: Gateway, slug: string) =>
  chat(gateway, { 'x-gateway-provider': `@${slug}` });

async function signatures({ inference }: Gateway) {
  const known = [staticKey, ...issued];
  return Promise.all(inference.upstream.reached.map((request) => verifySignature(request, known)));
}

const keyFields = {
  aws_access_key_id: staticKey.accessKeyId,
  aws_secret_access_key: staticKey.secretAccessKey,
};

describe('an integration of Bedrock', () => {
  it('sends a bearer key without a signature', async () => {
    const { slug } = await providerWith(ofRole, {}, { key: 'bedrock-api-key' });
    ofRole.inference.upstream.reached.length = 0;
    await chatAt(ofRole, slug);
    const [request] = ofRole.inference.upstream.reached;
    expect(request!.url).toBe('/openai/v1/chat/completions');
    expect(request!.headers.authorization).toBe('Bearer bedrock-api-key');
  });

  it('signs requests with its access key, for the region that it names', async () => {
    const { slug } = await providerWith(ofRole, keyFields, { key: 'unused' });
    expect(await chatAt(ofRole, slug)).toMatchObject({ status: 200, body: chatAnswer });
    const now = ofRole.inference.server.clock.now();
    expect(await signatures(ofRole)).toEqual([
      {
        accessKeyId: staticKey.accessKeyId,
        service: 'bedrock',
        region: 'eu-central-1',
        signedAt: Math.floor(now / 1000) * 1000,
      },
    ]);
  });

  it('signs with the session token of a temporary key', async () => {
    const temporary = issue();
    const { slug } = await providerWith(ofRole, {
      aws_access_key_id: temporary.accessKeyId,
      aws_secret_access_key: temporary.secretAccessKey,
      aws_session_token: temporary.sessionToken,
    });
    expect((await chatAt(ofRole, slug)).status).toBe(200);
  });

  it('assumes a role with its access key and the external id', async () => {
    const { slug } = await providerWith(ofRole, {
      ...keyFields,
      aws_auth_type: 'assumedRole',
      aws_role_arn: 'arn:aws:iam::123456789012:role/models',
      aws_external_id: 'external',
    });
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    const [request] = sts.reached;
    expect(Object.fromEntries(new URLSearchParams(request!.body.toString()))).toMatchObject({
      Action: 'AssumeRole',
      RoleArn: 'arn:aws:iam::123456789012:role/models',
      ExternalId: 'external',
    });
    expect(await verifySignature(request!, [staticKey])).toMatchObject({
      service: 'sts',
      region: 'eu-central-1',
    });
    expect((await signatures(ofRole))[0]).toMatchObject({ accessKeyId: 'ASIA0' });
  });

  it('uses the web identity of the pod', async () => {
    const { slug } = await providerWith(ofRole, {
      aws_auth_type: 'serviceRole',
      aws_region: 'us-west-2',
    });
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    expect(Object.fromEntries(new URLSearchParams(sts.reached[0]!.body.toString()))).toMatchObject({
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: 'arn:aws:iam::1:role/pod',
      WebIdentityToken: 'canary-pod-token',
    });
  });

  it('uses the identity that an agent on the node provides', async () => {
    const { slug } = await providerWith(ofAgent, { aws_auth_type: 'serviceRole' });
    expect((await chatAt(ofAgent, slug)).status).toBe(200);
    expect(agent.reached[0]!.headers.authorization).toBe('canary-pod-token');
    expect(agent.reached[0]!.url).toBe('/v1/credentials');
  });

  it('renews temporary credentials once for a hundred concurrent requests', async () => {
    const { slug } = await providerWith(ofRole, {
      ...keyFields,
      aws_role_arn: `arn:aws:iam::123456789012:role/${randomUUID()}`,
    });
    const send = () => Promise.all(Array.from({ length: 100 }, () => chatAt(ofRole, slug)));
    const statuses = (await send()).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(sts.reached).toHaveLength(1);
    ofRole.inference.server.clock.advance(lifeMs - 5 * 60_000);
    expect(new Set((await send()).map(({ status }) => status))).toEqual(new Set([200]));
    expect(sts.reached).toHaveLength(2);
    expect((await signatures(ofRole)).at(-1)).toMatchObject({ accessKeyId: 'ASIA1' });
  });

  it('keeps valid credentials while STS does not respond', async () => {
    const { slug } = await providerWith(ofRole, {
      ...keyFields,
      aws_role_arn: `arn:aws:iam::123456789012:role/${randomUUID()}`,
    });
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    sts.script = (_, response) => sendJson(response, {}, 503);
    ofRole.inference.server.clock.advance(lifeMs - 60_000);
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    ofRole.inference.server.clock.advance(60_000);
    const refused = await chatAt(ofRole, slug);
    expect(refused).toMatchObject({ status: 502, body: { error: { code: 'token_unavailable' } } });
  });

  it('renews credentials that AWS refuses, and sends the request once more', async () => {
    const { slug } = await providerWith(ofRole, {
      ...keyFields,
      aws_role_arn: `arn:aws:iam::123456789012:role/${randomUUID()}`,
    });
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    revoked.add('ASIA0');
    expect((await chatAt(ofRole, slug)).status).toBe(200);
    expect((await signatures(ofRole)).map((one) => one?.accessKeyId)).toEqual([
      'ASIA0',
      'ASIA0',
      'ASIA1',
    ]);
  });

  it('signs with a rotated key within a second', async () => {
    const { slug, integration } = await providerWith(ofRole, {
      aws_access_key_id: 'AKIAOLD',
      aws_secret_access_key: 'canary-old',
    });
    expect((await chatAt(ofRole, slug)).status).toBe(403);
    const changed = await ofRole.inference.server.request(
      'PUT',
      `/v1/integrations/${integration.slug}`,
      {
        body: {
          configurations: {
            ...integration.configurations,
            aws_region: 'eu-central-1',
            custom_host: ofRole.inference.upstream.url.replace('/v1', ''),
            ...keyFields,
          },
        },
      },
    );
    expect(changed).toMatchObject({ status: 200 });
    await eventually(async () => expect((await chatAt(ofRole, slug)).status).toBe(200));
  });

  it('takes its secret from a secret manager', async () => {
    vaultSecrets['secret/aws'] = { secret: staticKey.secretAccessKey };
    const reference = await post(ofRole.inference, '/v2/secret-references', {
      name: randomUUID(),
      manager_type: 'hashicorp_vault',
      secret_path: 'secret/aws',
      auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
      allow_all_workspaces: true,
      allowed_hosts: [ofRole.inference.upstream.host],
    });
    const mapping = {
      target_field: 'configurations.aws_secret_access_key',
      secret_key: 'secret',
      secret_reference_id: reference.slug,
    };
    const { slug } = await providerWith(
      ofRole,
      { aws_access_key_id: staticKey.accessKeyId },
      { secret_mappings: [mapping] },
    );
    expect((await chatAt(ofRole, slug)).status).toBe(200);
  });

  it.each([
    ['an unknown kind', { aws_auth_type: 'other' }, /aws_auth_type must be/],
    ['no secret', { aws_access_key_id: 'AKIA' }, /have no aws_secret_access_key/],
    ['no role', { ...keyFields, aws_auth_type: 'assumedRole' }, /have no aws_role_arn/],
  ])('states what its login lacks: %s', async (_, fields, message) => {
    const { slug } = await providerWith(ofRole, fields);
    const refused = await chatAt(ofRole, slug);
    expect(refused).toMatchObject({ status: 502, body: { error: { code: 'token_unavailable' } } });
    expect(refused.body.error.message).toMatch(message);
  });

  it('states that its region is missing or invalid', async () => {
    for (const aws_region of ['', 'evil.example/x', 'a.b']) {
      const { slug } = await providerWith(ofRole, { ...keyFields, aws_region });
      const refused = await chatAt(ofRole, slug);
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'aws_region' } } });
    }
  });

  it('states that the clock of the gateway is wrong when AWS refuses its signatures', async () => {
    const { slug } = await providerWith(ofRole, {
      aws_access_key_id: 'AKIAOTHER',
      aws_secret_access_key: 'x',
    });
    const theirs = ofRole.inference.server.clock.now() + 10 * 60_000;
    const usual = ofRole.inference.upstream.script;
    ofRole.inference.upstream.script = (_, response) => {
      response.setHeader('date', new Date(theirs).toUTCString());
      response.setHeader('x-amzn-errortype', 'InvalidSignatureException');
      sendJson(response, { message: 'Signature not yet current' }, 403);
    };
    const refused = await chatAt(ofRole, slug);
    ofRole.inference.upstream.script = usual;
    expect(refused).toMatchObject({ status: 502, body: { error: { code: 'token_unavailable' } } });
    expect(refused.body.error.message).toContain('is 10 minutes behind that of AWS');
  });

  it('prints no credential anywhere', async () => {
    const { slug } = await providerWith(ofRole, {
      ...keyFields,
      aws_role_arn: 'arn:aws:iam::123456789012:role/refused',
    });
    sts.script = (_, response) => {
      response.statusCode = 403;
      response.end('<Error><Code>AccessDenied</Code><Message>canary</Message></Error>');
    };
    const refused = await chatAt(ofRole, slug);
    expect(refused.body.error.message).toContain('(403, AccessDenied)');
    const listed = await ofRole.inference.server.request('GET', '/v1/integrations');
    const printed = JSON.stringify([refused.body, listed.body, ofRole.inference.server.logLines]);
    expect(printed).not.toMatch(/canary|AKIACANARYSTATIC/);
  });
});

describe('a config that names Bedrock', () => {
  const config = (fields: object) => ({
    'x-gateway-config': JSON.stringify({
      provider: 'bedrock',
      custom_host: ofRole.inference.upstream.url.replace('/v1', ''),
      aws_region: 'eu-central-1',
      ...fields,
    }),
  });

  it('signs requests with the access key that it contains', async () => {
    expect((await chat(ofRole, config(keyFields))).status).toBe(200);
  });

  it('cannot use the identity of the gateway', async () => {
    for (const fields of [
      { aws_auth_type: 'serviceRole' },
      { aws_role_arn: 'arn:aws:iam::1:role/any' },
    ]) {
      const refused = await chat(ofRole, config(fields));
      expect(refused).toMatchObject({
        status: 502,
        body: { error: { code: 'token_unavailable' } },
      });
      expect(refused.body.error.message).toContain('cannot use the identity of the gateway');
    }
    expect(sts.reached).toHaveLength(0);
  });
});

describe('a gateway that may not use its own identity', () => {
  it('refuses an integration that requires it', async () => {
    const gateway = await startGateway(null, false);
    const { slug } = await providerWith(gateway, { aws_auth_type: 'serviceRole' });
    const refused = await chatAt(gateway, slug);
    expect(refused.body.error.message).toContain('GATEWRIGHT_SECRETS_BY_OWN_IDENTITY');
    await gateway.inference[Symbol.asyncDispose]();
  });
});
