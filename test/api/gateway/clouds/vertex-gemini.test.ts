/** Verifies Gemini's own form at Vertex AI: addresses, streams, counts and logins, with federation from AWS. */
import { generateKeyPairSync } from 'node:crypto';
import { GoogleGenAI } from '@google/genai';
import { jwtVerify } from 'jose';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { testSettings } from '../../../support/server/server.ts';
import { verifySignature } from '../../../support/upstream/bedrock.ts';
import { sendJson, startUpstream, type TestUpstream } from '../../../support/upstream/upstream.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const email = 'gateway@our-project.iam.gserviceaccount.com';
const audience =
  '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/aws';
const awsKey = {
  accessKeyId: 'ASIATEST',
  secretAccessKey: 'canary-secret',
  sessionToken: 'session',
};
const verificationUrl =
  'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15';
const place = '/v1/projects/our-project/locations/us-east5/publishers/google/models';
const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
const eventWith = (text: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
  modelVersion: 'gemini-2.5-flash',
});

let inference: Inference;
let google: TestUpstream;
let agent: TestUpstream;
let subjects: string[];

const root = (url: string) => url.replace(/\/v1$/, '');

beforeAll(async () => {
  google = await startUpstream();
  agent = await startUpstream();
  const trusted = readTrustedHosts('127.0.0.1');
  const settings = testSettings().inference;
  const address = new URL(agent.url);
  inference = await startInference({
    trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
    inference: {
      ...settings,
      signsInAsItself: true,
      aws: { pod: { kind: 'container', address, tokenFile: null }, sts: null },
    },
  });
  agent.script = (_, response) =>
    sendJson(response, {
      AccessKeyId: awsKey.accessKeyId,
      SecretAccessKey: awsKey.secretAccessKey,
      Token: awsKey.sessionToken,
      Expiration: new Date(inference.server.clock.now() + 3_600_000).toISOString(),
    });
  google.script = async ({ url, body }, response) => {
    const form = new URLSearchParams(body.toString());
    if (url === '/token') {
      await jwtVerify(form.get('assertion')!, publicKey, { issuer: email });
    } else subjects.push(form.get('subject_token')!);
    sendJson(response, { access_token: 'google-token', token_type: 'Bearer', expires_in: 3599 });
  };
});
beforeEach(() => {
  subjects = [];
  inference.upstream.reached.length = 0;
  inference.upstream.script = ({ url }, response) => {
    if (url.includes(':countTokens')) return sendJson(response, { totalTokens: 9 });
    const last = { ...eventWith('lo', { finishReason: 'STOP' }), usageMetadata };
    if (!url.includes(':stream')) {
      return sendJson(response, {
        ...eventWith('hello', { finishReason: 'STOP' }),
        usageMetadata,
      });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [eventWith('hel'), last]) {
      response.write(`data: ${JSON.stringify(event)}\r\n\r\n`);
    }
    response.end();
  };
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await google[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
});

const serviceAccount = () => ({
  type: 'service_account',
  project_id: 'our-project',
  private_key_id: 'key-1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: email,
  token_uri: `${root(google.url)}/token`,
});
const federated = (source: object = {}) => ({
  type: 'external_account',
  audience,
  subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request',
  token_url: `${root(google.url)}/sts`,
  credential_source: {
    environment_id: 'aws1',
    regional_cred_verification_url: verificationUrl,
    ...source,
  },
});

/** A key whose config leads to an integration of Vertex AI. */
async function keyTo(credentials: object, more: object = {}) {
  const post = async (path: string, body: object) => {
    const made = await inference.server.request('POST', path, { body });
    expect(made).toMatchObject({ status: 200 });
    return made.body;
  };
  const { id: workspace_id } = await post('/v2/workspaces', { name: 'vertex' });
  const integration = await post('/v1/integrations', {
    name: 'vertex',
    ai_provider_id: 'vertex-ai',
    configurations: {
      custom_host: inference.upstream.url,
      vertex_project_id: 'our-project',
      vertex_region: 'us-east5',
      vertex_service_account_json: JSON.stringify(credentials),
      ...more,
    },
  });
  const { slug } = await post('/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id,
  });
  const config = { name: 'c', workspace_id, config: { provider: `@${slug}` } };
  const { slug: config_id } = await post('/v2/configs', config);
  return (await inference.addKey({ workspace_id, defaults: { config_id } })).key;
}

const clientOf = (apiKey: string) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: inference.server.inferenceUrl } });
const counted = { model: 'gemini-2.5-flash', contents: 'hello' };
const request = { ...counted, config: { topK: 5 } };

describe("Gemini's form at Vertex AI", () => {
  it('is sent as it is, with the token of a service account', async () => {
    const client = clientOf(await keyTo(serviceAccount()));
    const whole = await client.models.generateContent(request);
    expect([whole.text, whole.usageMetadata]).toEqual(['hello', usageMetadata]);
    const events = await Array.fromAsync(await client.models.generateContentStream(request));
    expect(events.map(({ text }) => text).join('')).toBe('hello');
    expect((await client.models.countTokens(counted)).totalTokens).toBe(9);
    const sent = inference.upstream.reached;
    expect(sent.map(({ url }) => url)).toEqual([
      `${place}/gemini-2.5-flash:generateContent`,
      `${place}/gemini-2.5-flash:streamGenerateContent?alt=sse`,
      `${place}/gemini-2.5-flash:countTokens`,
    ]);
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(
      sent.map(() => 'Bearer google-token'),
    );
    const body = JSON.parse(sent[0]!.body.toString());
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
      generationConfig: { topK: 5 },
    });
  });

  it('removes the publisher of a model, and reaches chats with google_api_format', async () => {
    const key = await keyTo(serviceAccount(), { google_api_format: 'gemini' });
    const client = new OpenAI({
      apiKey: key,
      baseURL: `${inference.server.inferenceUrl}/v1`,
      maxRetries: 0,
    });
    const chat = await client.chat.completions.create({
      model: 'google/gemini-2.5-flash',
      messages: [{ role: 'user', content: 'hello' }],
    });
    expect(chat.choices[0]!.message.content).toBe('hello');
    expect(chat.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2 });
    expect(inference.upstream.reached[0]!.url).toBe(`${place}/gemini-2.5-flash:generateContent`);
  });

  it('is called with the identity of the gateway at AWS, proved by a signed request to STS', async () => {
    const client = clientOf(await keyTo(federated(), { aws_region: 'eu-central-1' }));
    expect((await client.models.generateContent(request)).text).toBe('hello');
    const proof = JSON.parse(decodeURIComponent(subjects[0]!)) as {
      readonly url: string;
      readonly method: string;
      readonly headers: readonly { readonly key: string; readonly value: string }[];
    };
    expect(proof.url).toBe(verificationUrl.replace('{region}', 'eu-central-1'));
    const headers = Object.fromEntries(proof.headers.map(({ key, value }) => [key, value]));
    expect(headers['x-goog-cloud-target-resource']).toBe(audience);
    const { pathname, search } = new URL(proof.url);
    const sent = { method: proof.method, url: pathname + search, headers, body: Buffer.alloc(0) };
    const signed = await verifySignature(sent as never, [awsKey]);
    expect(signed).toMatchObject({ service: 'sts', region: 'eu-central-1' });
    expect(headers.authorization).toContain('x-goog-cloud-target-resource');
  });

  it.each([
    ['a region is missing', {}, {}, /aws_region/],
    [
      'the request would reach another host than STS',
      { regional_cred_verification_url: 'https://sts.{region}.example.com?Action=x' },
      { aws_region: 'eu-central-1' },
      /regional_cred_verification_url/,
    ],
    ['the environment is unknown', { environment_id: 'aws2' }, {}, /environment_id/],
  ])('is 502 with the reason where %s', async (_, source, more, reason) => {
    const client = clientOf(await keyTo(federated(source), more));
    await expect(client.models.generateContent(request)).rejects.toThrow(reason);
    expect([subjects, inference.upstream.reached]).toEqual([[], []]);
  });
});
