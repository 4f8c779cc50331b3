/** Creates a tenant with one of everything, credentials of every kind, and the routes of every plane. */
import { randomBytes } from 'node:crypto';
import { DrawnValues } from '../../support/interface/generated-values.ts';
import { Description } from '../../support/interface/response-check.ts';
import { RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { ownerOf } from '../../support/server/people.ts';
import type { TestServer } from '../../support/server/server.ts';
import { addSession } from '../../support/server/sessions.ts';
import { AnswerSchemas } from './answer-schemas.ts';
import { addFuzzedTenant, type FuzzedServer } from './fuzzed-server.ts';
import type { FuzzedProduct } from './product.ts';
import {
  adminRoute,
  type FuzzedRoute,
  formOf,
  gatewayOperations,
  gatewayRoute,
  mcpRoutes,
  plainRoutes,
} from './routes.ts';

type Headers = Readonly<Record<string, string>>;

/** Headers by the kind of the credential. */
export type Credentials = Readonly<Record<string, Headers>>;

export interface Scene {
  readonly routes: readonly FuzzedRoute[];
  readonly credentials: Credentials;
  readonly drawn: DrawnValues;
  readonly schemas: AnswerSchemas;
  /** Secrets of the tenant that no response and no log line may contain. */
  readonly canaries: readonly string[];
}

type OpenApiDocument = ConstructorParameters<typeof Description>[0] &
  ConstructorParameters<typeof AnswerSchemas>[0] &
  Parameters<typeof gatewayOperations>[0];

/** The document, which is the same for all scenes of a process. */
export async function readDocument(product: FuzzedProduct): Promise<{
  readonly document: OpenApiDocument;
  readonly schemas: AnswerSchemas;
  readonly drawn: DrawnValues;
}> {
  const { body } = await exchange('GET', `${product.urls.admin}/openapi.json`, undefined, {});
  const document = body as OpenApiDocument;
  return {
    document,
    schemas: new AnswerSchemas(document),
    drawn: new DrawnValues(document.components.schemas),
  };
}

export async function openScene(
  product: FuzzedProduct,
  { document, schemas, drawn }: Awaited<ReturnType<typeof readDocument>>,
): Promise<Scene> {
  const server = await addFuzzedTenant(product);
  const description = new Description(document);
  const requests = new RightRequests(
    // The requests use only these parts of a test server.
    server as unknown as TestServer,
    description,
    await server.token(),
    () => undefined,
  );
  await requests.furnish();
  const canaries = await plantCanaries(server, product);
  const key = await addKey(server, ['completions.write'], requests.ids.workspaces!);
  const mcpKey = await addKey(server, ['mcp.invoke'], requests.ids.workspaces!);
  const config = JSON.stringify({
    provider: 'mock-upstream',
    custom_host: product.providerUrl,
    api_key: canaries[0],
  });
  const slug = await addMcpServer(server, product, requests.ids.workspaces!);
  const ids = await createObjects(product, key, config);
  const gateway = gatewayOperations(document).map((one) => gatewayRoute(one, config, ids));
  return {
    routes: [
      ...description.operations.map((one) => adminRoute(one, requests)),
      ...gateway,
      ...mcpRoutes(slug, sessionOf(product, slug, mcpKey)),
      ...plainRoutes(),
    ],
    credentials: await credentialsOf(server, product, { key, mcpKey }, requests),
    drawn,
    schemas,
    canaries: [...canaries, ...product.secrets, server.clientSecret],
  };
}

async function credentialsOf(
  server: FuzzedServer,
  product: FuzzedProduct,
  { key, mcpKey }: { readonly key: string; readonly mcpKey: string },
  requests: RightRequests,
): Promise<Credentials> {
  const stranger = await addFuzzedTenant(product);
  const token = { authorization: `Bearer ${await server.token()}` };
  const userId = await ownerOf(server);
  const session = await addSession({ ...server, app: server.app } as unknown as TestServer, userId);
  const organisationKey = { 'x-gateway-api-key': server.organisationApiKey };
  return {
    token,
    client: requests.client(),
    session: session.headers,
    key: { 'x-gateway-api-key': key },
    mcpKey: { authorization: `Bearer ${mcpKey}` },
    none: {},
    organisationKey,
    stranger: { authorization: `Bearer ${await stranger.token()}` },
    wrong: { authorization: 'Bearer a.b.c' },
    basic: { authorization: 'Basic !!!' },
    two: { ...token, ...organisationKey },
  };
}

async function make(server: FuzzedServer, path: string, body: object) {
  const made = await server.request('POST', path, { body });
  if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
  return made.body;
}

async function addKey(server: FuzzedServer, scopes: readonly string[], workspace: string) {
  const body = { name: 'fuzz', scopes, workspace_id: workspace };
  return (await make(server, '/v1/api-keys/workspace/service', body)).key as string;
}

/** Stores secrets of several kinds; returns their values, that of the provider first. */
async function plantCanaries(server: FuzzedServer, product: FuzzedProduct): Promise<string[]> {
  const canary = () => `canary${randomBytes(18).toString('hex')}`;
  const [provider, stored, header] = [canary(), canary(), canary()];
  await make(server, '/v2/integrations', {
    name: 'canary',
    ai_provider_id: 'openai',
    key: stored,
  });
  await make(server, '/v2/mcp-integrations', {
    name: 'canary',
    url: product.mcpServerUrl,
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { authorization: header } },
  });
  return [provider, stored, header];
}

async function addMcpServer(server: FuzzedServer, product: FuzzedProduct, workspace: string) {
  const integration = await make(server, '/v2/mcp-integrations', {
    name: 'mock',
    url: product.mcpServerUrl,
    auth_type: 'none',
    transport: 'http',
  });
  await server.request('POST', `/v2/mcp-integrations/${integration.id}/sync`, { body: {} });
  const made = await make(server, '/v2/mcp-servers', {
    name: 'mock',
    mcp_integration_id: integration.id,
    workspace_id: workspace,
  });
  return made.slug as string;
}

/** Opens a legacy session on first use; an empty id where that is impossible. */
function sessionOf(product: FuzzedProduct, slug: string, key: string): () => Promise<string> {
  let session: Promise<string> | undefined;
  const open = async () => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'fuzz', version: '1' },
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const { headers } = await exchange('POST', `${product.urls.mcp}/${slug}/mcp`, body, {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
    });
    return String(headers['mcp-session-id'] ?? '');
  };
  return () => {
    session ??= open();
    return session;
  };
}

/** Stores objects of the gateway, as far as it stores them; returns their ids by path parameter. */
async function createObjects(product: FuzzedProduct, key: string, config: string) {
  const headers = { 'x-gateway-api-key': key, 'x-gateway-config': config };
  const ids: Record<string, string> = {};
  const add = async (parameter: string, path: string, body: object) => {
    const more: Record<string, string> = Buffer.isBuffer(body)
      ? { 'content-type': 'multipart/form-data; boundary=fuzz-boundary' }
      : {};
    const url = product.urls.inference + path;
    const made = await exchange('POST', url, body, { ...headers, ...more });
    if (typeof made.body?.id === 'string') ids[parameter] = made.body.id;
  };
  await add('fileId', '/v1/files', formOf({ purpose: 'assistants' }));
  await add('vectorStoreId', '/v1/vector_stores', { name: 'one' });
  await add('conversationId', '/v1/conversations', {});
  await add('assistantId', '/v1/assistants', { model: 'gpt-4o' });
  await add('threadId', '/v1/threads', {});
  await add('responseId', '/v1/responses', {
    model: 'gpt-4o',
    input: 'hello',
    max_output_tokens: 5,
  });
  return ids;
}
