/**
 * Verifies for every endpoint of Bedrock, Vertex AI and Cohere, at a provider of every format, that limits, guardrails,
 * model rules and ownership apply.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { publicPath } from '../../../../src/model/endpoints/catalogue.ts';
import { cloudEndpoints } from '../../../../src/model/endpoints/cloud-endpoints.ts';
import type { ListedEndpoint } from '../../../../src/model/endpoints/endpoint.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { testSettings } from '../../../support/server/server.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

const hugeOutput = 1_000_000;
const limitTokens = 20_000;
const forbidden = 'forbidden-model';
const services = ['bedrock', 'anthropic', 'openai', 'vertex-ai', 'google', 'cohere'] as const;
type Service = (typeof services)[number];

let inference: Inference;
let workspaceId: string;
const slugs = new Map<Service, string>();

const post = async (path: string, body: object) => {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
};

beforeAll(async () => {
  const settings = testSettings();
  inference = await startInference({
    inference: { ...settings.inference, enforcesLimits: true },
  });
  workspaceId = (await post('/v2/workspaces', { name: 'census' })).id;
  for (const service of services) {
    const integration = await post('/v1/integrations', {
      name: service,
      ai_provider_id: service,
      key: 'sk',
      configurations: {
        custom_host: inference.upstream.url,
        ...(service === 'bedrock' ? { aws_region: 'us-east-1' } : {}),
        ...(service === 'vertex-ai' ? { vertex_project_id: 'our-project' } : {}),
      },
      models: [{ slug: forbidden, enabled: false }],
    });
    const owned = { name: service, integration_id: integration.id, workspace_id: workspaceId };
    slugs.set(service, (await post('/v1/providers', owned)).slug);
  }
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, { error: 'refused' }, 400);
});
afterAll(() => inference[Symbol.asyncDispose]());

const version = { anthropic_version: 'bedrock-2023-05-31' };

/** The parts of a message. */
interface Content {
  readonly text?: string;
  /** Whether it names a file of the account. */
  readonly hasFile?: boolean;
}

/** A body of the endpoint with this content. */
function bodyOf(endpoint: ListedEndpoint, content: Content, model: string): object {
  const { servedAs, path } = endpoint;
  const { text = 'hello', hasFile = false } = content;
  if (endpoint.metering === 'input') return retrievalBody(endpoint, content, model);
  if (servedAs === '/chat') {
    return { model, messages: [{ role: 'user', content: text }], max_tokens: hugeOutput };
  }
  if (servedAs?.startsWith('/messages')) {
    const source = { type: 'file', file_id: 'file_foreign' };
    const parts = hasFile ? [{ type: 'document', source }] : [{ type: 'text', text }];
    const messages = [{ role: 'user', content: parts }];
    const sent = { ...version, messages };
    if (path.includes('/count-tokens:')) return { ...sent, model };
    if (!path.endsWith('/count-tokens')) return { ...sent, max_tokens: hugeOutput };
    const body = Buffer.from(JSON.stringify(sent)).toString('base64');
    return { input: { invokeModel: { body } } };
  }
  if (path.includes('/converse')) {
    const image = { format: 'png', source: { s3Location: { uri: 's3://theirs/a.png' } } };
    const messages = [{ role: 'user', content: [hasFile ? { image } : { text }] }];
    return { messages, inferenceConfig: { maxTokens: hugeOutput } };
  }
  if (path.includes('{converse_model+}')) {
    const image = { format: 'png', source: { s3Location: { uri: 's3://theirs/a.png' } } };
    return {
      input: {
        converse: { messages: [{ role: 'user', content: [hasFile ? { image } : { text }] }] },
      },
    };
  }
  const fileUri = 'https://generativelanguage.googleapis.com/v1beta/files/theirs';
  const parts = [hasFile ? { fileData: { fileUri, mimeType: 'image/png' } } : { text }];
  const generationConfig = { maxOutputTokens: hugeOutput };
  const isCount = path.endsWith(':countTokens');
  return { contents: [{ role: 'user', parts }], ...(isCount ? {} : { generationConfig }) };
}

/** Models by whose names a service knows that they embed or rank. */
function modelOf({ metering, servedAs }: ListedEndpoint, service: Service): string {
  if (metering !== 'input') return 'some-model';
  if (service !== 'bedrock') return 'some-embedding';
  return servedAs === '/rerank' ? 'cohere.rerank-v3-5:0' : 'amazon.titan-embed-text-v2:0';
}

/** Whether the service has what the endpoint returns. */
function isServed({ servedAs, metering }: ListedEndpoint, service: Service): boolean {
  if (metering === 'input' && servedAs !== '/rerank' && service === 'anthropic') return false;
  if (servedAs === '/rerank') return service !== 'vertex-ai';
  return servedAs !== '/chat' || (service !== 'vertex-ai' && service !== 'bedrock');
}

/** Texts to embed or to rank; nothing else is served, so that a file is not named but refused. */
function retrievalBody({ servedAs, path }: ListedEndpoint, content: Content, model: string) {
  const { text = 'hello', hasFile = false } = content;
  const file = hasFile ? { images: ['file_foreign'] } : {};
  if (path.endsWith(':embedContent')) {
    const fileUri = 'https://generativelanguage.googleapis.com/v1beta/files/theirs';
    return { content: { parts: [hasFile ? { fileData: { fileUri } } : { text }] } };
  }
  if (path.endsWith(':predict')) return { instances: [{ content: text, ...file }] };
  if (servedAs === '/rerank') {
    const named = path.startsWith('/v2/') ? { model } : {};
    return { query: text, documents: [text], ...named };
  }
  if (path.startsWith('/v2/')) return { model, texts: [text], ...file };
  return { inputText: text, ...file };
}

async function send(
  endpoint: ListedEndpoint,
  service: Service,
  {
    content = {},
    model = modelOf(endpoint, service),
    key = {},
    config = {},
  }: {
    content?: Content;
    model?: string;
    key?: object;
    config?: object;
  } = {},
) {
  const { key: sent } = await inference.addKey({ workspace_id: workspaceId, ...key });
  const path = publicPath(endpoint.path)
    .replace(/\{(?:\w+_)?model\+\}/, model)
    .replaceAll(/\{\w+\}/g, 'theirs');
  const headers = {
    authorization: `Bearer ${sent}`,
    'x-gateway-config': JSON.stringify({ provider: `@${slugs.get(service)}`, ...config }),
  };
  const body = bodyOf(endpoint, content, model);
  return exchange('POST', inference.server.inferenceUrl + path, body, headers);
}

/** Every number in a body, at any depth. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}

const rows = cloudEndpoints.flatMap((endpoint) =>
  services
    .filter((service) => isServed(endpoint, service))
    .map((service) => [`POST ${endpoint.path}`, service, endpoint] as const),
);
/** Rankings and chats of Cohere have no files. */
const withFiles = rows.filter(([, , { servedAs }]) => !['/rerank', '/chat'].includes(servedAs!));
const priced = rows.filter(([, , { metering }]) => metering !== 'nothing');
const generating = priced.filter(([, , { metering }]) => metering !== 'input');

describe('every endpoint of a cloud', () => {
  it('belongs to Bedrock, to a publisher at Vertex AI or to Cohere', () => {
    expect(cloudEndpoints).toHaveLength(19);
    for (const { path } of cloudEndpoints) expect(path).toMatch(/^\/(?:model|projects|v2)\//);
  });

  it.each(priced.filter((one) => !generating.includes(one)))(
    'bounds the input of %s at %s',
    async (_, service, endpoint) => {
      const usage_limits = { type: 'tokens', credit_limit: limitTokens };
      const text = 'x '.repeat(limitTokens);
      const { status } = await send(endpoint, service, {
        content: { text },
        key: { usage_limits },
      });
      expect(status).toBe(412);
      expect(inference.upstream.reached).toEqual([]);
    },
  );

  it.each(generating)('bounds the output of %s at %s', async (_, service, endpoint) => {
    const usage_limits = { type: 'tokens', credit_limit: limitTokens };
    const answer = await send(endpoint, service, { key: { usage_limits } });
    expect(answer.status).toBe(400);
    const [sent, ...more] = inference.upstream.reached;
    expect(more).toEqual([]);
    const numbers = numbersIn(JSON.parse(sent!.body.toString()));
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers.filter((one) => one >= limitTokens)).toEqual([]);
  });

  it.each(rows)('judges the texts of %s at %s', async (_, service, endpoint) => {
    const check = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };
    const config = { input_guardrails: [check] };
    const denied = await send(endpoint, service, { content: { text: 'a canary' }, config });
    expect([denied.status, inference.upstream.reached]).toEqual([446, []]);
    const passed = await send(endpoint, service, { config });
    expect(passed.status).not.toBe(446);
  });

  it.each(priced)('lets no forbidden model be used by %s at %s', async (_, service, endpoint) => {
    for (const model of [forbidden, forbidden.toUpperCase()]) {
      expect((await send(endpoint, service, { model })).status).toBe(403);
    }
    expect(inference.upstream.reached).toEqual([]);
  });

  it.each(withFiles)('names no file of others by %s at %s', async (_, service, endpoint) => {
    const content = { hasFile: true };
    // A provider of another format has no counterpart of the file.
    expect([400, 404]).toContain((await send(endpoint, service, { content })).status);
    expect(inference.upstream.reached).toEqual([]);
    await send(endpoint, service, { content, config: { unsupported: 'drop' } });
    const sent = inference.upstream.reached.map(({ body }) => body.toString());
    expect(sent.filter((body) => /theirs|file_foreign/.test(body))).toEqual([]);
  });
});
