/** Tests what callers of other kinds get while the database is away: MCP, realtime, embeddings, lists of models, JWTs. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startTokenIssuer, type TokenIssuer } from '../support/callers/token-issuer.ts';
import { exchange } from '../support/network/exchange.ts';
import { eventually } from '../support/server/eventually.ts';
import { type McpJournal, startMcpJournal } from '../support/upstream/mcp-journal.ts';
import {
  type RealtimeProvider,
  startRealtimeProvider,
} from '../support/upstream/realtime-provider.ts';
import { sendJson, startUpstream, type TestUpstream } from '../support/upstream/upstream.ts';
import { chatAt } from './caller.ts';
import { type Deployment, type GatewayPlace, startDeployment } from './deployment.ts';

interface Caller {
  readonly key: string;
  readonly id: string;
}

const stack = new AsyncDisposableStack();
let deployment: Deployment;
let provider: TestUpstream;
let realtime: RealtimeProvider;
let tools: McpJournal;
let issuer: TokenIssuer;
let place: GatewayPlace;
let config: string;
let live: string;
let server: string;
let workspace: { readonly id: string; readonly slug: string };
let caller: Caller;
let limited: Caller;
let tokenOf: (more?: object) => Promise<string>;

beforeAll(async () => {
  provider = stack.use(await startUpstream());
  realtime = stack.use(await startRealtimeProvider());
  tools = stack.use(await startMcpJournal());
  issuer = stack.use(await startTokenIssuer());
  const signing = await issuer.addKey('main');
  const hosts = [provider.host, realtime.host, tools.host, issuer.host];
  const variables = {
    GATEWRIGHT_JWT_JWKS_URIS: issuer.url,
    GATEWRIGHT_JWT_AUDIENCE: 'gatewright',
  };
  deployment = stack.use(await startDeployment({ hosts, variables }));
  config = await deployment.addConfig({}, provider.url);
  live = await deployment.addConfig({}, realtime.url);
  workspace = await deployment.admin('POST', '/v2/workspaces', { name: 'Support' });
  const scopes = ['completions.write', 'mcp.invoke'];
  const add = (more: object): Promise<Caller> =>
    deployment.admin('POST', '/v1/api-keys/workspace/service', {
      name: 'caller',
      scopes,
      workspace_id: workspace.id,
      ...more,
    });
  caller = await add({});
  limited = await add({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
  server = await addServer();
  tokenOf = (more = {}) =>
    signing.sign({
      tsg_id: deployment.server.tsgId,
      workspace_slug: workspace.slug,
      aud: 'gatewright',
      sub: 'alice',
      scopes,
      exp: Math.floor(Date.now() / 1000) + 3_600,
      ...more,
    });
  place = await deployment.addPlace({ relaysMcp: true });
  await place.start();
  await deployment.awaitSaved(place);
  await place.kill();
  place.link.cut();
  await place.start();
});
afterAll(() => stack.disposeAsync());

async function addServer(): Promise<string> {
  const integration = await deployment.admin('POST', '/v2/mcp-integrations', {
    name: 'tools',
    url: tools.url,
    auth_type: 'none',
    transport: 'http',
  });
  const { slug } = await deployment.admin('POST', '/v2/mcp-servers', {
    name: 'tools',
    mcp_integration_id: integration.id,
    workspace_id: workspace.id,
  });
  return slug;
}

const authorised = (value: string, slug = config) => ({
  authorization: `Bearer ${value}`,
  'x-gateway-config': slug,
});

it('relays calls of MCP tools of servers in the snapshot', async () => {
  const headers = {
    authorization: `Bearer ${caller.key}`,
    accept: 'application/json, text/event-stream',
  };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
  const call = (slug: string) =>
    exchange('POST', `${place.process!.mcpUrl}/${slug}/mcp`, message, headers);
  const { status, headers: sent, body } = await call(server);
  expect([status, tools.calls()], JSON.stringify(body)).toEqual([200, ['echo']]);
  expect(Number(sent['x-gateway-config-age'])).toBeGreaterThanOrEqual(0);
});

it('opens realtime sessions of keys without limits, and refuses those of budgets', async () => {
  const connect = (key: string) =>
    new WebSocket(`${place.url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime`, {
      headers: authorised(key, live),
    });
  const socket = connect(caller.key);
  const [first] = await once(socket, 'message');
  expect(JSON.parse(String(first)).type).toBe('session.created');
  socket.close();
  const refused = connect(limited.key).on('error', () => undefined);
  const answered = await Promise.race([
    once(refused, 'unexpected-response').then(([, response]) => response.statusCode),
    once(refused, 'close').then(() => 'closed'),
    responseOf(refused),
  ]);
  expect([503, 'closed', 'error']).toContain(answered);
  expect(realtime.journal).toEqual([]);
  refused.terminate();
});

/** Type of the first event that ends a request for a response. */
async function responseOf(socket: WebSocket): Promise<string> {
  socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create' })));
  for (;;) {
    const [data] = await once(socket, 'message');
    const { type } = JSON.parse(String(data));
    if (type === 'error' || type === 'response.done') return type;
  }
}

it('serves embeddings and lists of models', async () => {
  provider.script = (_, response) =>
    sendJson(response, {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
  const body = { model: 'm', input: 'hello' };
  const ask = (key: string) =>
    exchange('POST', `${place.url}/v1/embeddings`, body, authorised(key));
  expect((await ask(caller.key)).status).toBe(200);
  expect((await ask(limited.key)).status).toBe(503);
  const models = await exchange('GET', `${place.url}/v1/models`, undefined, {
    authorization: `Bearer ${caller.key}`,
    'x-gateway-config': config,
  });
  expect(models.status, JSON.stringify(models.body)).toBe(200);
});

it('admits JWTs of workspaces in the snapshot, refuses forged ones, and says 503 for new workspaces', async () => {
  provider.script = (_, response) => sendJson(response, { choices: [] });
  const ask = async (token: string) => (await chatAt(place, token, { config })).status;
  expect(await ask(await tokenOf())).toBe(200);
  expect(await ask(await tokenOf({ exp: Math.floor(Date.now() / 1000) - 3_600 }))).toBe(401);
  const late = await deployment.admin('POST', '/v2/workspaces', { name: 'Late' });
  expect(await ask(await tokenOf({ workspace_slug: late.slug }))).toBe(503);
});

it('returns to the database with everything that was created meanwhile', async () => {
  place.link.mend();
  const late = await deployment.addKey();
  await eventually(async () => {
    expect((await chatAt(place, late.key, { config })).status).toBe(200);
    expect((await chatAt(place, limited.key, { config })).status).toBe(200);
  });
});
