/**
 * Verifies workspace providers: only their account is used, at its address, for the allowed models
 * and within their limits.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let workspace: { id: string; slug: string };
let other: { id: string; slug: string };
let key: string;

beforeAll(async () => {
  inference = await startInference();
  workspace = await post('/v2/workspaces', { name: 'Support' });
  other = await post('/v2/workspaces', { name: 'Other' });
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function put(path: string, body: object): Promise<void> {
  expect(await inference.server.request('PUT', path, { body })).toMatchObject({ status: 200 });
}

let count = 0;

/** Creates an integration of the organisation and a provider of the workspace. */
async function make({ integration = {}, provider = {} }: Record<string, object> = {}) {
  count += 1;
  const { configurations = {}, ...more } = integration as { configurations?: object };
  const made = await post('/v1/integrations', {
    name: `Account ${count}`,
    ai_provider_id: 'openai',
    key: `sk-account-${count}`,
    configurations: { custom_host: inference.upstream.url, ...configurations },
    ...more,
  });
  const { id, slug } = await post('/v1/providers', {
    name: `Provider ${count}`,
    integration_id: made.id,
    workspace_id: workspace.id,
    ...provider,
  });
  return { id, slug, integrationId: made.id, key: `sk-account-${count}` };
}

interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly params?: object;
  readonly path?: string;
  readonly method?: string;
  readonly by?: string;
}

function ask({
  headers = {},
  params = {},
  path = '/chat/completions',
  by = key,
  ...more
}: RequestOptions) {
  const { method = 'POST' } = more;
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...params };
  const url = `${inference.server.inferenceUrl}/v1${path}`;
  return exchange(method, url, method === 'POST' ? body : undefined, {
    authorization: `Bearer ${by}`,
    ...headers,
  });
}

const codeOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.error?.code];
const named = (slug: string): RequestOptions => ({ headers: { 'x-gateway-provider': `@${slug}` } });
const withConfig = (config: object): RequestOptions => ({
  headers: { 'x-gateway-config': JSON.stringify(config) },
});

describe('a workspace provider', () => {
  it.each<[string, (slug: string, id: string) => RequestOptions]>([
    ['a config', (slug) => withConfig({ provider: `@${slug}` })],
    ['the virtual key of a config', (slug) => withConfig({ provider: 'x', virtual_key: slug })],
    ['a header', named],
    ['its id', (_, id) => named(id)],
    ['the header of a virtual key', (slug) => ({ headers: { 'x-gateway-virtual-key': slug } })],
    ['the model', (slug) => ({ params: { model: `@${slug}/m` } })],
    [
      'the model that a config sets',
      (slug) => withConfig({ retry: { attempts: 0 }, override_params: { model: `@${slug}/m` } }),
    ],
  ])(
    'is called when it is named by %s, with its own key at its own address',
    async (_, requested) => {
      const { slug, id, key: own } = await make();
      const answer = await ask(requested(slug, id));
      expect(answer).toMatchObject({
        status: 200,
        headers: { 'x-gateway-provider': `@${slug}` },
        body: chatAnswer,
      });
      const [one] = inference.upstream.reached;
      expect(one!.headers.authorization).toBe(`Bearer ${own}`);
      expect(JSON.parse(one!.body.toString()).model).toBe('m');
    },
  );

  it('is selected by the config first, then by an overridden model, then by the header, then by the body', async () => {
    const [a, b, c, d] = await Promise.all([make(), make(), make(), make()]);
    const everything = (config: object): RequestOptions => ({
      headers: { 'x-gateway-config': JSON.stringify(config), ...named(c!.slug).headers },
      params: { model: `@${d!.slug}/asked` },
    });
    const set = { override_params: { model: `@${b!.slug}/set` } };
    const calledBy = async (config: object): Promise<string | undefined> =>
      String((await ask(everything(config))).headers['x-gateway-provider']);
    expect(await calledBy({ provider: `@${a!.slug}`, ...set })).toBe(`@${a!.slug}`);
    expect(await calledBy({ retry: { attempts: 0 }, ...set })).toBe(`@${b!.slug}`);
    expect(await calledBy({ retry: { attempts: 0 } })).toBe(`@${c!.slug}`);
    expect((await ask({ params: { model: `@${d!.slug}/m` } })).headers).toMatchObject({
      'x-gateway-provider': `@${d!.slug}`,
    });
  });

  it('receives the headers of its integration, and those of a model at the address of that model', async () => {
    const host = `${inference.upstream.url}/special`;
    const { slug } = await make({
      integration: {
        configurations: { custom_headers: { 'X-Team': 'all', 'X-Only': 'integration' } },
        models: [
          {
            slug: 'special',
            enabled: true,
            configurations: { custom_host: host, custom_headers: { 'x-team': 'special' } },
          },
        ],
      },
    });
    const headers = {
      ...named(slug).headers,
      'x-gateway-forward-headers': 'x-team,x-mine',
      'x-team': 'forged',
      'x-mine': 'yes',
    };
    await ask({ headers });
    await ask({ headers, params: { model: 'special' } });
    const [plain, special] = inference.upstream.reached;
    expect(plain).toMatchObject({
      url: '/v1/chat/completions',
      headers: { 'x-team': 'all', 'x-only': 'integration', 'x-mine': 'yes' },
    });
    expect(special).toMatchObject({
      url: '/v1/special/chat/completions',
      headers: { 'x-team': 'special', 'x-only': 'integration' },
    });
  });

  it("uses the wire format of its integration's service", async () => {
    const { slug, key: own } = await make({ integration: { ai_provider_id: 'anthropic' } });
    await ask({ ...named(slug), path: '/messages' });
    const { headers } = inference.upstream.reached[0]!;
    expect(headers).toMatchObject({ 'x-api-key': own, 'anthropic-version': '2023-06-01' });
    expect(headers.authorization).toBeUndefined();
  });

  it('receives the key of the caller only when it has no key of its own', async () => {
    const without = await make({ integration: { key: null } });
    const owner = await make();
    for (const { slug } of [without, owner]) {
      const headers = { 'x-gateway-api-key': key, authorization: 'Bearer sk-caller' };
      await ask({ headers: { ...named(slug).headers, ...headers } });
    }
    expect(inference.upstream.reached.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-caller',
      `Bearer ${owner.key}`,
    ]);
  });
});

describe('a stored credential', () => {
  it.each<[string, (slug: string, host: string) => RequestOptions]>([
    [
      'by a header beside the provider',
      (slug, host) => ({ headers: { ...named(slug).headers, 'x-gateway-custom-host': host } }),
    ],
    [
      'by a header beside the model',
      (slug, host) => ({
        headers: { 'x-gateway-custom-host': host },
        params: { model: `@${slug}/m` },
      }),
    ],
    ['by a config', (slug, host) => withConfig({ provider: `@${slug}`, custom_host: host })],
    [
      'by the level above',
      (slug, host) =>
        withConfig({
          strategy: { mode: 'single' },
          custom_host: host,
          targets: [{ provider: `@${slug}` }],
        }),
    ],
  ])('is never sent to an address that the request names: %s', async (_, requested) => {
    const { slug } = await make();
    const answer = await ask(requested(slug, `${inference.upstream.url}/elsewhere`));
    expect(codeOf(answer)).toEqual([400, 'custom_host_refused']);
    expect(inference.upstream.reached).toEqual([]);
  });

  it('is sent only to the address in its saved config', async () => {
    const { slug } = await post('/v2/configs', {
      name: 'credential',
      workspace_id: workspace.id,
      config: { api_key: 'sk-saved', retry: { attempts: 0 } },
    });
    const { slug: provider } = await make();
    const elsewhere = {
      'x-gateway-config': slug,
      'x-gateway-custom-host': inference.upstream.url,
      'x-gateway-provider': 'anybody',
    };
    expect(codeOf(await ask({ headers: elsewhere }))).toEqual([400, 'provider_unknown']);
    await ask({ headers: { ...named(provider).headers, 'x-gateway-config': slug } });
    const { headers } = inference.upstream.reached[0]!;
    expect(headers.authorization).not.toContain('sk-saved');
  });

  it('is not selected by account names in a request config', async () => {
    const { slug } = await make({
      integration: { ai_provider_id: 'azure-openai' },
    });
    const config = {
      provider: `@${slug}`,
      azure_resource_name: 'evil',
      azure_deployment_id: 'theirs',
    };
    expect((await ask(withConfig(config))).status).toBe(200);
    expect(inference.upstream.reached[0]!.url).toContain('/deployments/m/chat/completions');
  });
});

describe('an Azure account with several deployments', () => {
  it.each([
    ['by its alias', 'small', '/v1/deployments/d1/chat/completions?api-version=2024-06-01'],
    ['by its model', 'gpt-4o', '/v1/deployments/d2/chat/completions?api-version=v2'],
    ['by its own name', 'd2', '/v1/deployments/d2/chat/completions?api-version=v2'],
    ['as the default', 'another', '/v1/deployments/d3/chat/completions?api-version=v0'],
  ])('uses the deployment for %s', async (_, model, url) => {
    const { slug } = await make({
      integration: {
        ai_provider_id: 'azure-openai',
        configurations: {
          custom_host: inference.upstream.url,
          azure_api_version: 'v0',
          azure_deployment_config: [
            { azure_deployment_name: 'd1', azure_api_version: '2024-06-01', alias: 'small' },
            { azure_deployment_name: 'd2', azure_api_version: 'v2', azure_model_slug: 'gpt-4o' },
            { azure_deployment_name: 'd3', is_default: true },
            { azure_deployment_name: 4 },
          ],
        },
      },
    });
    expect((await ask({ ...named(slug), params: { model } })).status).toBe(200);
    expect(inference.upstream.reached[0]!.url).toBe(url);
  });
});

describe('a rejected provider', () => {
  it('is returned for a disabled model, and for an unlisted model when only listed ones are allowed', async () => {
    const open = await make({ integration: { models: [{ slug: 'off', enabled: false }] } });
    const closed = await make({
      integration: { allow_all_models: false, models: [{ slug: 'on', enabled: true }] },
    });
    const outcome = async (slug: string, more: RequestOptions) =>
      (await ask({ ...named(slug), ...more })).status;
    const model = (name: string): RequestOptions => ({ params: { model: name } });
    expect(await outcome(open.slug, model('off'))).toBe(403);
    expect(await outcome(open.slug, model('any'))).toBe(200);
    expect(await outcome(closed.slug, model('on'))).toBe(200);
    const refused = await ask({ ...named(closed.slug), ...model('any') });
    expect(codeOf(refused)).toEqual([403, 'model_not_allowed']);
    for (const { slug } of [open, closed]) {
      const unnamed = { path: '/batches', params: { model: undefined } };
      expect(await outcome(slug, unnamed)).toBe(403);
      const inText = { ...named(slug).headers, 'content-type': 'text/plain' };
      expect((await ask({ headers: inText, params: { model: 'on' } })).status).toBe(400);
    }
    const set = withConfig({ provider: `@${closed.slug}`, override_params: { model: 'any' } });
    expect(codeOf(await ask({ ...set, ...model('on') }))).toEqual([403, 'model_not_allowed']);
  });

  it('is returned from the moment the provider expires', async () => {
    const { now } = inference.server.clock;
    const expires_at = new Date(now() + 60_000).toISOString();
    const { slug } = await make({ provider: { expires_at } });
    expect((await ask(named(slug))).status).toBe(200);
    inference.server.clock.advance(60_000);
    expect(codeOf(await ask(named(slug)))).toEqual([403, 'provider_expired']);
  });

  it('is returned after the workspace loses access to the integration', async () => {
    const { slug, integrationId } = await make();
    expect((await ask(named(slug))).status).toBe(200);
    const closing = { workspaces: [{ id: workspace.id, enabled: false }] };
    await put(`/v1/integrations/${integrationId}/workspaces`, closing);
    await eventually(async () => {
      expect(codeOf(await ask(named(slug)))).toEqual([403, 'provider_not_allowed']);
    });
  });

  it('is returned for a provider of another workspace and for an unknown one', async () => {
    const theirs = await make({ provider: { workspace_id: other.id } });
    for (const name of [theirs.slug, theirs.id, 'nobody', '']) {
      expect(codeOf(await ask(named(name)))).toEqual([400, 'provider_unknown']);
    }
    expect(inference.upstream.reached).toEqual([]);
  });
});

it('calls the provider that the request names for a passthrough target, and fails when there is none', async () => {
  const [requested, usual] = await Promise.all([make(), make()]);
  const config = {
    strategy: { mode: 'fallback', on_status_codes: [500] },
    targets: [{ passthrough: true }, { provider: `@${usual!.slug}` }],
  };
  const calledBy = async (model: string): Promise<string | undefined> =>
    String((await ask({ ...withConfig(config), params: { model } })).headers['x-gateway-provider']);
  expect(await calledBy(`@${requested!.slug}/m`)).toBe(`@${requested!.slug}`);
  expect(await calledBy('m')).toBe(`@${usual!.slug}`);
  expect(await calledBy('@nobody-has-it/m')).toBe(`@${usual!.slug}`);
});

it('accepts from an organisation key a slug that is unique to one workspace, or an id', async () => {
  const { key: by } = await inference.addKey();
  const alone = await make({ provider: { slug: 'alone' } });
  expect((await ask({ ...named('alone'), by })).status).toBe(200);
  const twin = await make({ provider: { slug: 'alone', workspace_id: other.id } });
  await eventually(async () => {
    expect(codeOf(await ask({ ...named('alone'), by }))).toEqual([400, 'provider_unknown']);
  });
  for (const { id, key: own } of [alone, twin]) {
    inference.upstream.reached.length = 0;
    await ask({ ...named(id), by });
    expect(inference.upstream.reached[0]!.headers.authorization).toBe(`Bearer ${own}`);
  }
});

it('uses for an organisation key the providers of the workspace of its saved config', async () => {
  const ours = await make({ provider: { slug: 'common' } });
  await make({ provider: { slug: 'common', workspace_id: other.id } });
  const { slug } = await post('/v2/configs', {
    name: 'of the workspace',
    workspace_id: workspace.id,
    config: { provider: '@common' },
  });
  const { key: by } = await inference.addKey();
  expect((await ask({ headers: { 'x-gateway-config': slug }, by })).status).toBe(200);
  const { headers } = inference.upstream.reached[0]!;
  expect(headers.authorization).toBe(`Bearer ${ours.key}`);
});

it('uses a changed key of an integration within a second', async () => {
  const { slug, integrationId } = await make();
  await ask(named(slug));
  await put(`/v1/integrations/${integrationId}`, { key: 'sk-next' });
  await eventually(async () => {
    await ask(named(slug));
    const { headers } = inference.upstream.reached.at(-1)!;
    expect(headers.authorization).toBe('Bearer sk-next');
  });
});

describe('a provider limit', () => {
  it('applies to all users of the provider', async () => {
    const { slug } = await make({
      provider: { usage_limits: { type: 'tokens', credit_limit: 100 } },
    });
    inference.upstream.script = (_, response) => {
      sendJson(response, { ...chatAnswer, usage: { prompt_tokens: 40, completion_tokens: 60 } });
    };
    const params = { max_tokens: 20, messages: [] };
    const { key: second } = await inference.addKey({ workspace_id: workspace.id });
    expect((await ask({ ...named(slug), params })).status).toBe(200);
    const refused = await ask({ ...named(slug), params, by: second });
    expect(codeOf(refused)).toEqual([412, 'usage_limit_exceeded']);
    expect(refused.body.error.message).toContain(`rovider @${slug}`);
  });

  it('applies for a workspace in an integration to all providers that the workspace creates from it', async () => {
    const { slug, integrationId } = await make();
    const rate_limits = [{ type: 'requests', unit: 'rph', value: 1 }];
    const workspaces = [{ id: workspace.id, enabled: true, rate_limits }];
    await put(`/v1/integrations/${integrationId}/workspaces`, { workspaces });
    const second = await post('/v1/providers', {
      name: 'Second',
      integration_id: integrationId,
      workspace_id: workspace.id,
    });
    expect((await ask(named(second.slug))).status).toBe(200);
    expect(codeOf(await ask(named(slug)))).toEqual([429, 'rate_limit_exceeded']);
  });

  it('applies to each workspace separately when set for all, unless the workspace has its own limits', async () => {
    const answer = { ...chatAnswer, usage: { prompt_tokens: 40, completion_tokens: 60 } };
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const usage_limits = [{ type: 'tokens', credit_limit: 100 }];
    const { slug, integrationId } = await make({
      integration: { global_workspace_access: { enabled: true, usage_limits } },
    });
    const body = { name: 'There', integration_id: integrationId, workspace_id: other.id };
    const there = await post('/v1/providers', body);
    const { key: others } = await inference.addKey({ workspace_id: other.id });
    const params = { max_tokens: 20, messages: [] };
    const here = () => ask({ ...named(slug), params });
    const elsewhere = () => ask({ ...named(there.slug), params, by: others });
    const exhausted = [412, 'usage_limit_exceeded'];
    expect((await here()).status).toBe(200);
    expect(codeOf(await here())).toEqual(exhausted);
    expect((await elsewhere()).status).toBe(200);
    expect(codeOf(await elsewhere())).toEqual(exhausted);
    const say = (more: object) =>
      put(`/v1/integrations/${integrationId}/workspaces`, {
        workspaces: [{ id: workspace.id, enabled: true, ...more }],
      });
    await say({});
    const access = `/v1/integrations/${integrationId}/workspaces`;
    // The usage reaches the database a moment later.
    await eventually(async () => {
      const reported = await inference.server.request('GET', access);
      expect(reported.body).toMatchObject({
        global_workspace_access: { enabled: true, usage_limits, rate_limits: [] },
        workspaces: [{ id: workspace.id, status: 'exhausted', usage_limits: null }],
      });
    });
    expect(codeOf(await here())).toEqual(exhausted);
    await say({ usage_limits: [{ type: 'tokens', credit_limit: 1_000 }] });
    await eventually(async () => expect((await here()).status).toBe(200));
    await say({ usage_limits: null, reset_usage: true });
    await eventually(async () => {
      const { body } = await inference.server.request('GET', access);
      expect(body.workspaces).toMatchObject([{ status: 'active' }]);
    });
    await eventually(async () => expect(codeOf(await here())).toEqual(exhausted));
    expect(codeOf(await elsewhere())).toEqual(exhausted);
  });

  it('limits the rate of each workspace when set for all', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpw', value: 1 }];
    const { slug, integrationId } = await make();
    await put(`/v1/integrations/${integrationId}/workspaces`, {
      global_workspace_access: { enabled: true, rate_limits },
    });
    const second = await post('/v1/providers', {
      name: 'Second',
      integration_id: integrationId,
      workspace_id: workspace.id,
    });
    const there = await post('/v1/providers', {
      name: 'There',
      integration_id: integrationId,
      workspace_id: other.id,
    });
    const { key: others } = await inference.addKey({ workspace_id: other.id });
    expect((await ask(named(second.slug))).status).toBe(200);
    expect(codeOf(await ask(named(slug)))).toEqual([429, 'rate_limit_exceeded']);
    expect((await ask({ ...named(there.slug), by: others })).status).toBe(200);
  });

  it.each([
    ['provider', (slug: string) => `@${slug}`],
    ['virtual_key', (slug: string) => slug],
    ['model', (slug: string) => `@${slug}/*`],
    ['provider', (_: string, id: string) => id],
  ])('applies to %s as a policy', async (condition, nameOf) => {
    const { slug, id } = await make();
    await post('/v1/policies/usage-limits', {
      name: 'one',
      workspace_id: workspace.id,
      type: 'requests',
      credit_limit: 1,
      conditions: [{ key: condition, value: nameOf(slug, id) }],
      group_by: [{ key: 'provider' }],
    });
    await eventually(async () => {
      expect(codeOf(await ask(named(slug)))).toEqual([412, 'usage_limit_exceeded']);
    });
    expect(inference.upstream.reached.length).toBeGreaterThan(0);
  });
});

describe('the price', () => {
  const price = (cents: number) => ({ price: cents });
  const pay_as_you_go = { request_token: price(0.0003), response_token: price(0.001) };

  it('is set for a model by its integration', async () => {
    const { slug } = await make({
      integration: {
        models: [
          { slug: 'priced', enabled: true, pricing_config: { type: 'static', pay_as_you_go } },
        ],
      },
    });
    const answer = await ask({ ...named(slug), params: { model: 'priced' } });
    // 5 input tokens at 3 micro-dollars and 2 output tokens at 10.
    expect(answer.headers['x-gateway-cost']).toBe('0.000035');
  });

  it('is the published price times the factors of the integration', async () => {
    const { slug } = await make({
      integration: {
        ai_provider_id: 'mock-upstream',
        pricing_adjustments: { multiplier: { default: 10, response_token: 0 } },
      },
    });
    const answer = await ask(named(slug));
    // 5 input tokens at one micro-dollar, times ten.
    expect(answer.headers['x-gateway-cost']).toBe('0.00005');
  });

  it('uses the factors of a model instead of all factors of the integration', async () => {
    const { slug } = await make({
      integration: {
        ai_provider_id: 'mock-upstream',
        pricing_adjustments: { multiplier: { default: 10, response_token: 0 } },
        models: [
          { slug: 'dear', enabled: true, pricing_adjustments: { multiplier: { default: 100 } } },
          { slug: 'plain', enabled: true, pricing_adjustments: { multiplier: { default: 1 } } },
          { slug: 'empty', enabled: true, pricing_adjustments: { multiplier: { image: {} } } },
          { slug: 'usual', enabled: true, pricing_adjustments: null },
        ],
      },
    });
    const costOf = async (model: string) =>
      (await ask({ ...named(slug), params: { model } })).headers['x-gateway-cost'];
    // 5 input tokens at one micro-dollar and 2 output tokens at two.
    expect(await Promise.all(['dear', 'plain', 'empty', 'usual'].map(costOf))).toEqual([
      '0.0009',
      '0.000009',
      '0.00005',
      '0.00005',
    ]);
  });
});
