/**
 * Verifies for every route of the gateway and every credential: who is admitted, what the others
 * receive, and that no credential leaks.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import { allScopes, grantsScope } from '../../../src/model/people/scopes.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import {
  type OfferedCaller,
  offeredCallers,
  type PresentedCredential,
  presentedValue,
  tokenSettings,
  waysToShow,
} from '../../support/callers/offered-callers.ts';
import { asKey } from '../../support/callers/offered-credential.ts';
import { startTokenIssuer, type TokenIssuer } from '../../support/callers/token-issuer.ts';
import { comparableResponse, type RawAnswer, RawClient } from '../../support/network/raw-client.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { startTestServer, type TestServer, testSettings } from '../../support/server/server.ts';
import { signedInSettings } from '../../support/server/sessions.ts';
import { addKeyCaller, unknownLike } from '../../support/server/tenant.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../support/upstream/upstream.ts';

type Headers = Readonly<Record<string, string>>;

let upstream: TestUpstream;
let issuers: readonly [TokenIssuer, TokenIssuer];
let server: TestServer;
let client: RawClient;
let callers: readonly OfferedCaller[];

beforeAll(async () => {
  upstream = await startUpstream((_, response) => sendJson(response, chatAnswer));
  issuers = [await startTokenIssuer(), await startTokenIssuer()];
  const trusted = readTrustedHosts([upstream, ...issuers].map(({ host }) => host).join());
  server = await startTestServer({
    settings: {
      trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
      ...signedInSettings,
      inference: { ...testSettings().inference, tokens: tokenSettings(...issuers) },
    },
  });
  client = new RawClient(server.inferenceUrl);
  callers = await offeredCallers(server, issuers);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  for (const one of [upstream, ...issuers]) await one[Symbol.asyncDispose]();
});

const id = 'of_nobody';
const chat = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
/** Requests below each path, with their bodies. */
const queryValue: Readonly<Record<string, object | null>> = {
  'POST /chat/completions': chat,
  'GET /chat/completions': null,
  [`GET /chat/completions/${id}`]: null,
  'POST /completions': { model: 'm', prompt: 'hello' },
  'POST /embeddings': { model: 'm', input: 'hello' },
  'POST /messages': { ...chat, max_tokens: 20 },
  'POST /messages/count_tokens': chat,
  'POST /messages/batches': { requests: [] },
  'POST /responses': { model: 'm', input: 'hello' },
  'POST /responses/input_tokens': { model: 'm', input: 'hello' },
  [`GET /responses/${id}`]: null,
  [`DELETE /responses/${id}`]: null,
  [`POST /responses/${id}/cancel`]: {},
  [`GET /responses/${id}/input_items`]: null,
  'POST /conversations': {},
  [`GET /conversations/${id}/items`]: null,
  'GET /files': null,
  'POST /files': { purpose: 'batch' },
  [`GET /files/${id}/content`]: null,
  [`DELETE /files/${id}`]: null,
  'POST /uploads': { bytes: 1 },
  'GET /batches': null,
  'POST /batches': { input_file_id: id, endpoint: '/v1/chat/completions' },
  'GET /vector_stores': null,
  'POST /vector_stores': { name: 'a' },
  [`GET /vector_stores/${id}`]: null,
  [`POST /vector_stores/${id}/files`]: { file_id: id },
  [`POST /vector_stores/${id}/search`]: { query: 'a' },
  'GET /assistants': null,
  'POST /assistants': { model: 'm' },
  [`DELETE /assistants/${id}`]: null,
  'POST /threads': {},
  'POST /threads/runs': { assistant_id: id },
  [`GET /threads/${id}/messages`]: null,
  [`POST /threads/${id}/runs`]: { assistant_id: id },
  [`GET /threads/${id}/runs/${id}/steps`]: null,
  [`POST /threads/${id}/runs/${id}/submit_tool_outputs`]: { tool_outputs: [] },
  'GET /models': null,
  'GET /models/m': null,
  'DELETE /models/m': null,
  'POST /moderations': { input: 'a' },
  'POST /images/generations': { prompt: 'a' },
  'POST /audio/speech': { input: 'a', model: 'm', voice: 'v' },
  'GET /fine_tuning/jobs': null,
  'POST /evals': {},
  'POST /videos': { prompt: 'a' },
  'GET /containers': null,
  'GET /organization/users': null,
  'POST /rerank': { query: 'a' },
  'PATCH /anything/else': {},
  [`POST /prompts/${id}/render`]: { variables: {} },
  [`POST /prompts/${id}/completions`]: { variables: {} },
  'POST /feedback': { trace_id: 'a', value: 1 },
  [`PUT /feedback/${id}`]: { value: 1 },
  'POST /logs': { request: {}, response: {} },
};
const routes = Object.entries(queryValue).map(([route, body], at) => {
  const [method = '', path = ''] = route.split(' ');
  return { method, path, body, at, name: route };
});
type Route = (typeof routes)[number];

const isOfAdminApi = ({ path }: Route) => path === '/logs' || path.startsWith('/feedback');

/**
 * The scopes of a route: an admitted key has all of them at the gateway, and one at the Admin API.
 */
function scopesOf({ path }: Route): readonly string[] {
  if (path === '/logs') return ['logs.write'];
  if (isOfAdminApi({ path } as Route)) return ['completions.write', 'logs.write'];
  return path.endsWith('/render') ? ['completions.write', 'prompts.render'] : ['completions.write'];
}

type Verdict = 'comes in' | 'lacks the scope' | 'has shown nothing' | 'is used up' | 'is refused';

/**
 * Returns the expected outcome of a credential, with the error code when the gateway rejects it.
 */
function verdictOf(route: Route, value: string | null): readonly [Verdict, string?] {
  if (value === null) return ['has shown nothing'];
  const { worth = 'invalid_api_key', isToken = false } =
    callers.find((caller) => caller.value === value) ?? {};
  if (isToken && isOfAdminApi(route)) return ['is refused'];
  if (worth === 'usage_limit_exceeded') return ['is used up'];
  if (typeof worth === 'string') return ['is refused', worth];
  const held = scopesOf(route).map((scope) => grantsScope(worth.scopes, scope));
  const isHeld = isOfAdminApi(route) ? held.includes(true) : !held.includes(false);
  return [isHeld ? 'comes in' : 'lacks the scope'];
}

const isLetIn = (status: number) => status < 500 && status !== 401 && status !== 403;

/** Returns how the response contradicts the expected outcome, or null. */
async function faultOf(
  route: Route,
  visible: PresentedCredential,
  answer: RawAnswer,
): Promise<string | null> {
  const [verdict, code] = verdictOf(route, presentedValue(visible));
  const { status, body } = answer;
  const alike = async (headers: Headers, query = '') =>
    comparableResponse(answer) === comparableResponse(await ask(route, headers, query));
  const isCode = () =>
    [JSON.parse(body)].some(
      (contentValue) => (contentValue.error?.code ?? contentValue.code) === code,
    );
  const fits = {
    'comes in': () => isLetIn(status),
    'is used up': () => (isOfAdminApi(route) ? status === 401 : isLetIn(status)),
    'lacks the scope': () => status === 403 && /scope_missing| is missing"/.test(body),
    // A credential in the query is refused as a query member that no endpoint has.
    'has shown nothing': async () =>
      (status === 401 && (await alike({}))) ||
      (status === 400 && (await alike({}, `?api_key=${unknown}`))),
    'is refused': () => {
      if (isOfAdminApi(route)) return status === 401 && alike({});
      const isUnknown = code === 'invalid_api_key';
      // The headers of the response have the prefix of the request.
      const isOlder = 'x-portkey-api-key' in visible.headers;
      const other = { [isOlder ? 'x-portkey-api-key' : 'x-api-key']: unknown };
      return status === 401 && isCode() && (!isUnknown || alike(other));
    },
  }[verdict];
  return (await fits()) ? null : `${verdict} ${code}: ${status} ${body}`;
}

const unknown = makeApiKey('');
const providerKey = 'sk-canary-of-the-provider';

function ask(
  { method, path, body }: Route,
  headers: Headers,
  query = '',
  mark = 'none',
): Promise<RawAnswer> {
  const config = { provider: 'mock-upstream', custom_host: upstream.url, api_key: providerKey };
  const usual = {
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(config),
    'x-gateway-trace-id': 'one',
    'idempotency-key': mark,
  };
  return client.send({
    method,
    target: `/v1${path}${query}`,
    headers: { ...usual, ...headers },
    body: body === null ? undefined : JSON.stringify(body),
  });
}

/**
 * One combination in this many is tried, others with another seed. The number is a prime, so that
 * none is omitted forever.
 */
const every = isLong ? 1 : 61;

it('admits the effective credential with its scope, and returns to all others the response for an unknown one', async () => {
  const other = callers.find(({ name }) => name === 'service key')!.value;
  const ways = Object.entries(waysToShow);
  const [faults, refused]: [string[], Set<string>] = [[], new Set()];
  const compareResponses: string[] = [];
  const tried = callers.map(async ({ name, value }, which) => {
    for (const [at, [way, show]] of ways.entries()) {
      for (const route of routes) {
        const mark = (which * ways.length + at) * routes.length + route.at;
        if ((mark + seed) % every !== 0) continue;
        const visible = show(value, other);
        const answer = await ask(route, visible.headers, visible.query, `${mark}`);
        if (answer.status === 401 || answer.status === 403) refused.add(`${mark}`);
        const fault = await faultOf(route, visible, answer);
        if (fault !== null) faults.push(`${name} ${way} at ${route.name} ${fault}`);
        compareResponses.push(JSON.stringify(answer));
      }
    }
  });
  await Promise.all(tried);
  expect(compareResponses.length).toBeGreaterThan(400);
  expect(faults).toEqual([]);
  const reached = upstream.reached.map(({ url, rawHeaders, body }) =>
    [url, ...rawHeaders, body.toString()].join('\n'),
  );
  expect(reached.length).toBeGreaterThan(10);
  const marks = upstream.reached.map(({ headers }) => headers['idempotency-key']);
  expect(marks.filter((mark) => refused.has(String(mark)))).toEqual([]);
  const secrets = callers.map(({ value }) => value).filter((value) => value !== 'garbage');
  const shows = (texts: readonly string[], values: readonly string[]) =>
    texts.filter((text) => values.some((value) => text.includes(value)));
  expect(shows(reached, secrets)).toEqual([]);
  expect(shows([...compareResponses, ...server.logLines], [...secrets, providerKey])).toEqual([]);
});

it('returns the same response for objects of other tenants as for unknown ones, wherever a request names them', async () => {
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  const { id: workspace_id } = await post('/v2/workspaces', { name: 'theirs' });
  const integration = await post('/v1/integrations', {
    name: 'i',
    ai_provider_id: 'openai',
    key: providerKey,
    configurations: { custom_host: upstream.url },
  });
  const made = [
    await post('/v1/providers', { name: 'p', integration_id: integration.id, workspace_id }),
    await post('/v2/configs', { name: 'c', workspace_id, config: { cache: { mode: 'simple' } } }),
    await post('/v1/prompts', { name: 'q', workspace_id, string: 'Hi', model: 'm' }),
    await post('/v2/guardrails', {
      name: 'g',
      workspace_id,
      checks: [{ id: 'default.notNull' }],
      actions: {},
    }),
  ];
  const strangers = ['key of another organisation', 'service key of workspace 2'].map((name) =>
    asKey(callers.find((caller) => caller.name === name)!.value),
  );
  const insider = asKey((await addKeyCaller(server, allScopes, workspace_id)).key);
  const names = made.flatMap(({ id: uuid, slug }) => [uuid, slug] as string[]);
  const requestsList = names.flatMap((name) => askingFor(name).map((asking) => ({ name, asking })));
  const compareResponses = async (
    { name, asking }: (typeof requestsList)[number],
    headers: Headers,
  ) => {
    const pair = [name, unknownLike(name)];
    const answers = pair.map(async (one) => {
      const change = (text: string) => text.replaceAll(name, one!);
      const { target, body = chat, more = {} } = asking;
      const usual = { 'content-type': 'application/json', 'x-gateway-trace-id': 'one' };
      const own = JSON.parse(change(JSON.stringify(more)));
      const answer = await client.send({
        method: 'POST',
        target: change(target),
        body: change(JSON.stringify(body)),
        headers: { ...usual, ...headers, ...own },
      });
      return comparableResponse(answer).replaceAll(one!, name);
    });
    return Promise.all(answers);
  };
  const ofInsider = await Promise.all(requestsList.map((one) => compareResponses(one, insider)));
  expect(ofInsider.filter(([own, of]) => own !== of).length).toBeGreaterThan(25);
  const ofStrangers = strangers.flatMap((headers) =>
    requestsList.map(async (one) => [one.asking, ...(await compareResponses(one, headers))]),
  );
  const compared = await Promise.all(ofStrangers);
  expect(compared.filter(([, foreign, of]) => foreign !== of)).toEqual([]);
});

interface NamedRequest {
  readonly target: string;
  /** Headers. */
  readonly more?: Headers;
  readonly body?: object;
}

/** Every place in which a request can name an object of a workspace. */
function askingFor(name: string): NamedRequest[] {
  const target = '/v1/chat/completions';
  const leaf = { provider: 'mock-upstream', custom_host: upstream.url };
  const configs = [
    { provider: `@${name}` },
    { virtual_key: name },
    { prompt_id: name },
    { ...leaf, input_guardrails: [name] },
    { ...leaf, output_guardrails: [name] },
    { strategy: { mode: 'fallback' }, targets: [{ provider: `@${name}` }] },
  ];
  return [
    ...configs.map((config) => ({
      target,
      more: { 'x-gateway-config': JSON.stringify(config) },
    })),
    { target, more: { 'x-gateway-config': name } },
    { target, more: { 'x-gateway-provider': `@${name}` } },
    { target, more: { 'x-gateway-provider': name } },
    { target, more: { 'x-gateway-virtual-key': name } },
    { target, body: { ...chat, model: `@${name}/m` } },
    ...['render', 'completions'].flatMap((action) =>
      [name, `${name}@1`, `${name}@latest`].map((reference) => ({
        target: `/v1/prompts/${reference}/${action}`,
        body: { variables: {} },
      })),
    ),
  ];
}
