/**
 * Verifies for every endpoint of the catalogue, in every spelling, that nothing reaches a provider
 * past limits, guardrails, model rules and ownership.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allEndpoints, endpointAt, publicPath } from '../../../src/model/endpoints/catalogue.ts';
import type { ListedEndpoint } from '../../../src/model/endpoints/endpoint.ts';
import { meterings } from '../../../src/model/endpoints/metering.ts';
import { spellings } from '../../support/interface/spellings.ts';
import { exchange } from '../../support/network/exchange.ts';
import { nestedIn, nestings } from '../../support/network/nested-values.ts';
import {
  type SharedAccount,
  startKeeper,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { chatAnswer, sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

const limitTokens = 20_000;
const hugeOutput = 1_000_000;
const forbidden = 'gpt-4o';

let shared: SharedAccount;
let upstream: TestUpstream;
let tenant: Tenant;

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  tenant = await shared.tenant('usual');
});

beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => shared[Symbol.asyncDispose]());

/** A path of the endpoint, with ids and a model that the tests choose. */
function pathOf({ path }: ListedEndpoint, { id = 'obj_foreign', model = 'm' } = {}): string {
  return path.replace(/\{model\+?\}/, model).replaceAll(/\{\w+\}/g, id);
}

/** Realtime sessions are opened by WebSocket, which `test/api/realtime` covers. */
const plainEndpoints = allEndpoints.filter(({ name }) => name !== 'realtime');
const modelEndpoints = plainEndpoints.filter(({ metering }) => metering !== 'nothing');
/** Requests to a thread or conversation of nobody are 404 before their usage is bounded. */
const unowned = modelEndpoints.filter(({ path, owned }) => owned === null || !path.includes('{'));
const listed = (endpoints: readonly ListedEndpoint[]): [string, ListedEndpoint][] =>
  endpoints.map((one) => [`${one.method} ${one.path}`, one]);

/** A body with every member that asks for output, and with a text wherever formats have one. */
function bodyWith(text: string, model: unknown = 'm'): Record<string, unknown> {
  const messages = [{ role: 'user', content: text }];
  const output = { max_tokens: hugeOutput, max_completion_tokens: hugeOutput };
  return {
    model,
    messages,
    prompt: text,
    input: text,
    inputs: text,
    ...output,
    max_output_tokens: hugeOutput,
    max_tokens_to_sample: hugeOutput,
    contents: [{ role: 'user', parts: [{ text }] }],
    generationConfig: { maxOutputTokens: hugeOutput },
    completion_args: { max_tokens: hugeOutput },
    request: { model, messages, max_tokens: hugeOutput },
  };
}

/** Members that no endpoint lists, in which a provider may look for others. */
const outerMembers = ['extra_body', 'retrieval', 'tool_resources', 'provider', 'Plugins'];

function isInteractions(path: string): boolean {
  return path.startsWith('/v1beta/interactions');
}

/** Sends the body in every spelling of the path. */
async function sendAll(
  path: string,
  body: unknown,
  key: string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<void> {
  const url = shared.inference.server.inferenceUrl;
  const bearer = { authorization: `Bearer ${key}`, ...headers };
  for (const spell of Object.values(spellings)) {
    const answer = await exchange(method, url + publicPath(spell(path)), body, bearer);
    expect([spell(path), answer.status < 500]).toEqual([spell(path), true]);
  }
}

/** The path below `/v1` of a request in the journal. */
const belowV1 = (url: string): string => new URL(url, 'http://any').pathname.slice('/v1'.length);

describe('a key with a limit of tokens', () => {
  it.each(listed(unowned))('never lets %s exceed it', async (_, endpoint) => {
    const usage_limits = { type: 'tokens', credit_limit: limitTokens };
    const { key } = await shared.inference.addKey({
      workspace_id: tenant.workspaceId,
      usage_limits,
    });
    const config = { 'x-gateway-config': JSON.stringify({ provider: tenant.provider }) };
    await sendAll(pathOf(endpoint), bodyWith('x'), key, config);
    const { metering } = endpoint;
    // The requests of a batch are bounded one by one: docs/explanation/limits.md.
    const isBounded = metering !== 'unbounded' && metering !== 'batches';
    const isUsable = isBounded && !meterings[metering as 'runs'].readsStored;
    if (!isBounded) expect(upstream.reached).toEqual([]);
    // Messages and contents are translated, and not with members of other formats.
    const isTranslated =
      ['messages', 'gemini', 'converse'].includes(metering) ||
      /^\/(?:v1beta|projects|model)\/|^\/v2\/embed$/.test(endpoint.path);
    const isTooLarge = metering === 'transcriptions' || metering === 'runs' || isTranslated;
    if (isUsable && !isTooLarge) expect(upstream.reached).not.toEqual([]);
    for (const { method, url, body } of upstream.reached) {
      const reached = endpointAt(method, belowV1(url));
      expect([url, reached?.path]).toEqual([url, endpoint.servedAs ?? endpoint.path]);
      expect(reached?.metering).not.toBe('unbounded');
      const { maxNames } = meterings[reached!.metering as keyof typeof meterings];
      const sent = JSON.parse(body.toString());
      for (const name of maxNames as readonly string[]) {
        const [outer, inner] = name.split('.') as [string, string?];
        const value = inner === undefined ? sent[outer] : sent[outer][inner];
        expect([name, value < limitTokens]).toEqual([name, true]);
      }
    }
  });

  const limitable = unowned.filter(
    ({ metering, path }) =>
      meterings[metering as 'runs']?.output === 'members' && !isInteractions(path),
  );
  it.each(listed(limitable))(
    'never lets %s exceed it in members it does not list',
    async (_, at) => {
      const { key } = await shared.inference.addKey({
        workspace_id: tenant.workspaceId,
        usage_limits: { type: 'tokens', credit_limit: 3_000_000 },
      });
      const config = { 'x-gateway-config': JSON.stringify({ provider: tenant.provider }) };
      const amounts = { n_predict: hugeOutput, max_gen_toks: `${hugeOutput}` };
      const below = [amounts, { options: { num_predict: hugeOutput } }];
      const limits = { completion_args: { max_tokens: 9 }, request: { model: 'm', max_tokens: 9 } };
      const body = { ...bodyWith('x'), ...limits, max_tokens: 9, max_completion_tokens: 9 };
      for (const more of [amounts, ...outerMembers.map((name) => ({ [name]: below }))]) {
        const sent = { ...body, max_output_tokens: 9, max_tokens_to_sample: 9, ...more };
        await shared.ask({ key }, 'POST', pathOf(at), sent, config);
      }
      const passed = upstream.reached.map((one) => one.body.toString());
      expect(passed.filter((text) => text.includes(String(hugeOutput)))).toEqual([]);
    },
  );

  it('counts a conversation of Mistral that goes on without inputs', async () => {
    const keeper = startKeeper();
    upstream.script = keeper.script;
    const limited = await shared.tenant('continued', {
      usage_limits: { type: 'tokens', credit_limit: limitTokens },
    });
    const { body: made } = await shared.ask(limited, 'POST', '/conversations', { metadata: {} });
    upstream.reached.length = 0;
    const path = `/conversations/${made.id}`;
    const args = { completion_args: { max_tokens: hugeOutput } };
    for (const [at, body] of [
      ['', {}],
      ['', { inputs: null, ...args }],
      ['', { tool_confirmations: [{ tool_call_id: 'c', confirmation: 'allow' }] }],
      ['/restart', { from_entry_id: 'e' }],
      ['/restart', { metadata: {} }],
    ] as const) {
      const answer = await shared.ask(limited, 'POST', path + at, body);
      expect([at, body, answer.status]).toEqual([at, body, 412]);
    }
    expect(upstream.reached).toEqual([]);
    const update = await shared.ask(limited, 'POST', path, { metadata: { a: 'b' } });
    expect(update).toMatchObject({ status: 200 });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/octet-stream'])(
    'cannot send a chat as %s',
    async (type) => {
      const { key } = await shared.inference.addKey();
      const answer = await shared.ask({ key }, 'POST', '/chat/completions', JSON.stringify({}), {
        'content-type': type,
        'x-gateway-config': JSON.stringify({
          provider: 'mock-upstream',
          custom_host: upstream.url,
        }),
      });
      expect(answer).toMatchObject({ status: 400, body: { error: { param: 'content-type' } } });
      expect(upstream.reached).toEqual([]);
    },
  );

  it('rejects an output limit that hides in another letter case or type', async () => {
    const limited = await shared.tenant('nested', {
      usage_limits: { type: 'tokens', credit_limit: 3_000_000 },
    });
    const bodies = [
      { inputs: 'x', model: 'm', completion_args: { MAX_TOKENS: hugeOutput } },
      { inputs: 'x', model: 'm', completion_args: 'x' },
      { inputs: 'x', model: 'm', Completion_Args: {} },
      { Inputs: 'x', model: 'm' },
    ];
    for (const body of bodies) {
      expect(await shared.ask(limited, 'POST', '/conversations', body)).toMatchObject({
        status: 400,
      });
    }
    expect(upstream.reached).toEqual([]);
    const twice =
      '{"inputs":"x","model":"m","completion_args":{"max_tokens":9000000,"max_tokens":7}}';
    await shared.ask(limited, 'POST', '/conversations', twice, {
      'content-type': 'application/json',
    });
    const [sent] = upstream.reached.map(({ body }) => body.toString());
    expect(sent ?? '').not.toContain('9000000');
  });
});

describe('a caller with a guardrail', () => {
  const guardrail = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };
  const judged = plainEndpoints.filter(
    ({ method, path, requestTexts }) =>
      method === 'POST' &&
      requestTexts !== null &&
      requestTexts !== 'stored' &&
      !path.includes('{id}'),
  );

  it.each(listed(judged))('never sends a forbidden text to %s', async (_, endpoint) => {
    const config = JSON.stringify({ provider: tenant.provider, input_guardrails: [guardrail] });
    await sendAll(pathOf(endpoint), bodyWith('a canary'), tenant.key, {
      'x-gateway-config': config,
    });
    for (const levels of nestings) {
      const content = nestedIn({ TEXT: 'a canary' }, levels);
      const messages = [{ role: 'user', content }];
      const body = {
        ...bodyWith('x'),
        messages,
        input: messages,
        inputs: messages,
        other: content,
      };
      const headers = { 'x-gateway-config': config };
      await shared.ask(tenant, 'POST', pathOf(endpoint), body, headers);
    }
    expect(upstream.reached).toEqual([]);
  });

  it.each([
    ['/completions', { prompt: [1, 2] }],
    ['/completions', { prompt: [[1, 2]] }],
    ['/completions', { prompt: 'x', prompt_token_ids: [1, 2] }],
    ['/completions', { prompt: 'x', prompt_embeds: 'AAAA' }],
    ['/completions', { input_ids: [[1], [2]] }],
    ['/chat/completions', { messages: [], token_ids: [1, 2] }],
    ['/embeddings', { input: [1, 2] }],
    ['/embeddings', { input: ['x', [1, 2]] }],
  ])('cannot send %s a text as tokens: %j', async (path, body) => {
    const ask = (more: object) => {
      const judging = { ...guardrail, ...more };
      const config = { provider: tenant.provider, input_guardrails: [judging] };
      const headers = { 'x-gateway-config': JSON.stringify(config) };
      return shared.ask(tenant, 'POST', path, { model: 'm', ...body }, headers);
    };
    expect(await ask({})).toMatchObject({ status: 446 });
    expect(upstream.reached).toEqual([]);
    expect(await ask({ on_unsupported: 'pass' })).toMatchObject({ status: 200 });
  });

  it('gets no forbidden text of a model from an evaluation, a store or a skill', async () => {
    const keeper = startKeeper();
    upstream.script = keeper.script;
    const make = async (path: string) => (await shared.ask(tenant, 'POST', path, {})).body.id;
    const [evaluation, store, skill] = [
      await make('/evals'),
      await make('/vector_stores'),
      await make('/skills'),
    ];
    upstream.script = (_, response) => sendJson(response, { data: [{ text: 'a canary' }] });
    const config = JSON.stringify({ provider: tenant.provider, output_guardrails: [guardrail] });
    const ask = (method: string, path: string, body?: object) =>
      shared.ask(tenant, method, path, body, { 'x-gateway-config': config });
    expect(await ask('GET', `/evals/${evaluation}`)).toMatchObject({ status: 200 });
    for (const [method, path, body] of [
      ['GET', `/evals/${evaluation}/runs/r/output_items`],
      ['GET', `/evals/${evaluation}/runs/r/output_items/o`],
      ['POST', `/vector_stores/${store}/search`, { query: 'x' }],
      ['GET', `/vector_stores/${store}/files/f/content`],
      ['GET', `/skills/${skill}/content`],
    ] as const) {
      const { status, body: answer } = await ask(method, path, body);
      expect([path, status, JSON.stringify(answer).includes('canary')]).toEqual([path, 446, false]);
    }
  });

  it('cannot use an endpoint that is not in the catalogue', async () => {
    const config = JSON.stringify({
      provider: 'openai',
      custom_host: upstream.url,
      input_guardrails: [guardrail],
    });
    const answer = await shared.ask(
      tenant,
      'POST',
      '/clips',
      {},
      {
        'x-gateway-config': config,
        'x-gateway-api-key': tenant.key,
        authorization: 'Bearer sk-own',
      },
    );
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'endpoint_unknown' } } });
    expect(upstream.reached).toEqual([]);
  });
});

describe('the check of queries', () => {
  // Lists in the form of Google are composed of those of other providers.
  const isList = (path: string): boolean => /^\/v1beta\/models(?:\/\{model\+\})?$/.test(path);
  const pathless = plainEndpoints.filter(({ path }) => !path.includes('{id}') && !isList(path));
  /** Names that no endpoint lists, in spellings of members that it does list or evaluates. */
  const unlisted = [
    'unlisted',
    'LIMIT',
    'limit ',
    'max_tokens',
    'Model',
    'file_id',
    'workspace_id',
  ];
  let own: { key: string };
  let headers: Record<string, string>;
  beforeAll(async () => {
    own = await shared.inference.addKey();
    const config = { provider: 'openai', custom_host: `${upstream.url}/v1` };
    headers = {
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-api-key': own.key,
      authorization: 'Bearer sk-own',
    };
  });

  it.each(listed(plainEndpoints))('refuses an unlisted member at %s', async (_, endpoint) => {
    const { method } = endpoint;
    for (const name of [...unlisted, '', 'unlisted[]']) {
      const path = `${pathOf(endpoint)}?api-version=1&${encodeURIComponent(name)}=x`;
      const body = method === 'POST' ? bodyWith('x') : undefined;
      const answer = await shared.ask(own, method, path, body, headers);
      expect([name, answer]).toMatchObject([name, { status: 400 }]);
    }
    expect(upstream.reached).toEqual([]);
  });

  it.each(listed(pathless))('passes on the listed members of %s', async (_, endpoint) => {
    const { method } = endpoint;
    const members = ['api-version', 'beta', ...endpoint.query.map((name) => `${name}[]`)];
    const query = members.map((name) => `${encodeURIComponent(name)}=1`).join('&');
    const body = method === 'POST' ? bodyWith('x') : undefined;
    await shared.ask(own, method, `${pathOf(endpoint)}?${query}`, body, headers);
    const sent = upstream.reached.map(({ url }) => [
      ...new URL(url, 'http://any').searchParams.keys(),
    ]);
    expect(sent).toEqual(sent.map(() => members));
    // The gateway may store objects with a capability itself.
    const isPassedOn = method === 'GET' && (endpoint.owned?.capability ?? null) === null;
    if (isPassedOn) expect(sent).toHaveLength(1);
  });

  it('refuses an unlisted member at a prompt', async () => {
    const answer = await shared.ask(own, 'POST', '/prompts/none/completions?unlisted=1', {});
    expect(answer).toMatchObject({ status: 400, body: { error: { param: 'unlisted' } } });
  });

  it('never repeats a credential in its error', async () => {
    const answer = await shared.ask(own, 'GET', `/files?${own.key}=1`, undefined, headers);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain(own.key);
  });
});

describe('the check of bodies', () => {
  const bodiless = plainEndpoints.filter(({ method }) => method !== 'POST');

  it.each(listed(bodiless))('refuses a body at %s', async (_, endpoint) => {
    const methods = endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method];
    for (const method of methods) {
      for (const [body, type] of [
        [bodyWith('x'), 'application/json'],
        ['x', 'text/plain'],
      ] as const) {
        const headers = { 'content-type': type };
        const answer = await shared.ask(tenant, method, pathOf(endpoint), body, headers);
        expect([method, answer.status]).toEqual([method, 400]);
      }
    }
    expect(upstream.reached).toEqual([]);
  });
});

describe('a provider that forbids a model', () => {
  const spelledModels = [
    forbidden,
    forbidden.toUpperCase(),
    `models/${forbidden}`,
    `openai/${forbidden}`,
    `${forbidden}-2024-08-06`,
    `${forbidden}:free`,
    ` ${forbidden}`,
  ];
  let restricted: { key: string; config: Record<string, string> };
  beforeAll(async () => {
    const post = async (path: string, body: object) =>
      (await shared.inference.server.request('POST', path, { body })).body;
    const { id: workspace_id } = await post('/v2/workspaces', { name: 'restricted' });
    const integration = await post('/v1/integrations', {
      name: 'restricted',
      ai_provider_id: 'openai',
      key: 'sk',
      configurations: { custom_host: upstream.url },
      models: [{ slug: forbidden, enabled: false }],
    });
    const { slug } = await post('/v1/providers', {
      name: 'restricted',
      integration_id: integration.id,
      workspace_id,
    });
    const { key } = await shared.inference.addKey({ workspace_id });
    restricted = { key, config: { 'x-gateway-config': JSON.stringify({ provider: `@${slug}` }) } };
  });

  it.each(listed(unowned))('never lets %s use it', async (_, endpoint) => {
    for (const model of spelledModels) {
      const { key, config } = restricted;
      const url = shared.inference.server.inferenceUrl;
      const headers = { authorization: `Bearer ${key}`, ...config };
      const bodies: object[] = [
        bodyWith('x', model),
        { ...bodyWith('x', 'other'), models: ['other', model] },
        { ...bodyWith('x', 'other'), Models: [model] },
        { ...bodyWith('x', 'other'), fallbackModels: [model] },
        { ...bodyWith('x', 'other'), models: [{ any: { name: model } }] },
        { ...bodyWith('x', 'other'), plugins: [{ id: 'fusion', analysis: ['other'] }] },
        { ...bodyWith('x', 'other'), plugins: [{ id: 'web', any: { of: [model] } }] },
        { ...bodyWith('x', 'other'), preset: 'mine' },
        { ...bodyWith('x', 'other'), agent_id: 'ag:1' },
        { ...bodyWith('x', 'other'), tools: [{ type: 'image_generation', Model: model }] },
        { ...bodyWith('x', 'other'), requests: [{ params: { model } }] },
        ...nestings.map((levels) => ({
          ...bodyWith('x', 'other'),
          tools: [nestedIn({ model }, levels)],
        })),
      ];
      for (const body of bodies) {
        await exchange('POST', url + publicPath(pathOf(endpoint)), body, headers);
      }
      if (endpoint.path.includes('{model}')) {
        const path = pathOf(endpoint, { model: encodeURIComponent(model.trim()) });
        await exchange('POST', url + publicPath(path), bodyWith('x', 'other'), headers);
      }
    }
    expect(upstream.reached.map(({ url, body }) => [url, body.toString()])).toEqual([]);
  });

  it.each([
    '',
    `openai:${forbidden}`,
    `openai.${forbidden}`,
    `${forbidden}\u200b`,
    'gpt\u20114o',
    `${forbidden}#x`,
    `${forbidden},other`,
    'gpt%2d4o',
    `other@preset/x`,
    'model-router',
    'openrouter/fusion',
  ])('refuses %j, which a provider may read as another model', async (model) => {
    const { key, config } = restricted;
    const body = { model, messages: [] };
    const answer = await shared.ask({ key }, 'POST', '/chat/completions', body, config);
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'model_not_allowed' } } });
    expect(upstream.reached).toEqual([]);
  });

  it.each(['gpt-4o-mini', 'gpt-4.1', 'mistral/gpt-5', 'claude-3-5-haiku-20241022'])(
    'lets %s be used',
    async (model) => {
      const { key, config } = restricted;
      const answer = await shared.ask(
        { key },
        'POST',
        '/chat/completions',
        { model, messages: [] },
        config,
      );
      expect(answer.status).toBe(200);
    },
  );
});

describe('a workspace that shares its account', () => {
  const owned = plainEndpoints.filter((one) => one.owned !== null && one.path.includes('{id}'));

  it.each(listed(owned))('never reaches an object of others by %s', async (_, endpoint) => {
    const body = endpoint.method === 'POST' ? {} : undefined;
    await sendAll(pathOf(endpoint), body, tenant.key, {}, endpoint.method);
    expect(upstream.reached).toEqual([]);
  });

  const naming = plainEndpoints.filter(
    ({ method, references, path }) =>
      method === 'POST' && references.length > 0 && !path.includes('{id}'),
  );
  it.each(listed(naming))('never names an object of others in %s', async (_, endpoint) => {
    for (const name of endpoint.references) {
      // Audio that a caller sends is no object; `audio` in a message with an id is.
      if (name === 'audio') continue;
      // Names without this prefix may be public skills of the provider.
      const id = name.startsWith('skill') ? 'skill_foreign' : 'file-foreign';
      const members = [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)];
      for (const member of members) {
        for (const value of [id, { id }, { ID: id }]) {
          const part = { type: 'file', [member]: value };
          const body = {
            model: 'm',
            [member]: value,
            messages: [{ role: 'user', content: [part] }],
          };
          await shared.ask(tenant, 'POST', pathOf(endpoint), body);
        }
      }
      const hasOwnWalk = /^\/(?:v1beta|projects|model)\//.test(endpoint.path);
      for (const outer of hasOwnWalk ? [] : outerMembers) {
        for (const value of [{ [name]: id }, [{ any: [{ [name]: [id] }] }]]) {
          const body = { model: 'm', max_tokens: 9, input: 'x', messages: [], [outer]: value };
          await shared.ask(tenant, 'POST', pathOf(endpoint), body);
        }
      }
      for (const levels of nestings) {
        const content = [nestedIn({ type: 'file', [name]: id }, levels)];
        const messages = [{ role: 'user', content }];
        const body = { model: 'm', messages, content };
        await shared.ask(tenant, 'POST', pathOf(endpoint), body);
      }
    }
    const passed = upstream.reached.filter(({ body }) =>
      isNamedAsObject(endpoint, body.toString()),
    );
    expect(passed.map(({ url, body }) => [url, body.toString()])).toEqual([]);
  });

  it.each(listed(naming))('never has %s read with the account of the provider', async (_, at) => {
    const url = 'gs://bucket/secret.png';
    const part = { type: 'image_url', image_url: { url } };
    const messages = [{ role: 'user', content: [part] }];
    const tools = [{ type: 'file_search', vector_store_ids: ['vs_foreign'] }];
    const data_sources = [{ type: 'azure_search', parameters: { index_name: 'secret' } }];
    const bodies = [
      { messages, input: messages, inputs: messages, content: [part], contents: messages },
      { messages: [], input: 'x', prompt: 'x', data_sources },
    ];
    const hasStores = at.references.includes('vector_store_ids');
    for (const body of [...bodies, ...(hasStores ? [{ messages: [], input: 'x', tools }] : [])]) {
      await shared.ask(tenant, 'POST', pathOf(at), { model: 'm', max_tokens: 9, ...body });
    }
    const text = upstream.reached.map(({ body }) => body.toString()).join('');
    for (const named of [url, 'data_sources', 'vs_foreign']) expect(text).not.toContain(named);
  });

  it.each(['openai-organization', 'openai-project'])(
    'cannot select a part of the account by %s, which callers with their own account can',
    async (name) => {
      const body = { model: 'm', messages: [] };
      const headers = { [name]: 'foreign' };
      await shared.ask(tenant, 'POST', '/chat/completions', body, headers);
      await shared.ask(tenant, 'POST', '/chat/completions', body, {
        ...headers,
        'x-gateway-config': JSON.stringify({ provider: 'openai', custom_host: upstream.url }),
        'x-gateway-api-key': tenant.key,
        authorization: 'Bearer sk-own',
      });
      expect(upstream.reached.map((one) => one.headers[name])).toEqual([undefined, 'foreign']);
    },
  );

  /** Chats and messages name files in parts, and containers at the top. */
  function isNamedAsObject(endpoint: ListedEndpoint, body: string): boolean {
    if (endpoint.name !== 'messages' && endpoint.name !== 'count_tokens') return true;
    const isTop = /"(?:skill_ids?|previous_message_id|container_id)"/i;
    return !isTop.test(body);
  }

  it.each(['/clips', '/agents', '/organization/users', '/x/files/file-1', '/realtime/calls'])(
    'gets 404 for %s, which is not in the catalogue',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await shared.ask(tenant, method, path, method === 'POST' ? {} : undefined);
        expect(answer).toMatchObject({
          status: 404,
          body: { error: { code: 'endpoint_unknown' } },
        });
      }
      expect(upstream.reached).toEqual([]);
    },
  );

  it('may use any name in members that the caller chooses freely', async () => {
    const free = { thread_id: 'x', file_id: 'y', conversation: 'z' };
    const tool = { type: 'function', name: 'f', parameters: { properties: { file_id: {} } } };
    const bodies = [
      { client_metadata: free },
      { metadata: free },
      { tools: [tool] },
      { thread_id: 'x' },
    ];
    for (const more of bodies) {
      const body = { model: 'm', input: 'x', ...more };
      expect(await shared.ask(tenant, 'POST', '/responses', body)).toMatchObject({ status: 200 });
    }
  });
});

describe('an integration of one workspace', () => {
  it('may name paths that are not in the catalogue, for callers without anything to check', async () => {
    const post = async (path: string, body: object) =>
      (await shared.inference.server.request('POST', path, { body })).body;
    const { id: workspace_id } = await post('/v2/workspaces', { name: 'raw' });
    const integration = await post('/v1/integrations', {
      name: 'raw',
      ai_provider_id: 'openai',
      key: 'sk',
      workspace_id,
      configurations: { custom_host: upstream.url, raw_paths: ['/workflows/run'] },
    });
    const { slug } = await post('/v1/providers', {
      name: 'raw',
      integration_id: integration.id,
      workspace_id,
    });
    const { key } = await shared.inference.addKey({ workspace_id });
    const config = { 'x-gateway-config': JSON.stringify({ provider: `@${slug}` }) };
    const ask = (by: string, path: string) => shared.ask({ key: by }, 'POST', path, {}, config);
    expect(await ask(key, '/workflows/run')).toMatchObject({ status: 200 });
    expect(await ask(key, '/workflows/stop')).toMatchObject({ status: 404 });
    const usage_limits = { type: 'tokens', credit_limit: limitTokens };
    const limited = await shared.inference.addKey({ workspace_id, usage_limits });
    expect(await ask(limited.key, '/workflows/run')).toMatchObject({ status: 404 });
    expect(upstream.reached.map(({ url }) => url)).toEqual(['/v1/workflows/run']);
  });
});
