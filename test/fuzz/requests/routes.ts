/** Lists the routes of every plane with a valid request of each. */
import type { Schema } from '../../support/interface/generated-values.ts';
import { nameOf, type Operation } from '../../support/interface/response-check.ts';
import type { RightRequests } from '../../support/interface/valid-requests.ts';
import { isToken } from '../../support/interface/valid-requests.ts';
import type { EditableRoute, RequestDraft } from './edits.ts';
import type { Plane } from './verdict.ts';

export interface FuzzedRoute extends EditableRoute {
  readonly name: string;
  readonly plane: Plane;
  readonly statuses: readonly string[];
  /** The credential that a valid request has; `client` is the one of token requests. */
  readonly credential: 'token' | 'client' | 'session' | 'key' | 'mcpKey' | 'none';
  /** Returns a valid request. */
  draft(): Promise<RequestDraft>;
}

/** An operation of the document that the gateway serves. */
export interface GatewayOperation {
  readonly method: string;
  readonly path: string;
  readonly queries: Readonly<Record<string, Schema>>;
  readonly headers: readonly string[];
  readonly schema: Schema | undefined;
  readonly isForm: boolean;
}

interface DescribedParameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}
interface DescribedGatewayOperation {
  readonly tags?: readonly string[];
  readonly parameters: readonly DescribedParameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

/** Operations of inference and of stored objects. */
export function gatewayOperations(document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedGatewayOperation>>>>;
}): GatewayOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags = [] }]) => tags.some((tag) => /^(Inference|Stored objects)$/.test(tag)))
      .map(([method, { parameters, requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        queries: Object.fromEntries(
          parameters.filter((one) => one.in === 'query').map((one) => [one.name, one.schema]),
        ),
        headers: parameters.filter((one) => one.in === 'header').map((one) => one.name),
        schema: requestBody?.content['application/json']?.schema,
        isForm: requestBody?.content['multipart/form-data'] !== undefined,
      })),
  );
}

export function adminRoute(one: Operation, requests: RightRequests): FuzzedRoute {
  const isPublic = !one.statuses.includes('401');
  const credential = isToken(one)
    ? 'client'
    : one.path === '/v1/session'
      ? 'session'
      : isPublic
        ? 'none'
        : 'token';
  return {
    ...one,
    name: nameOf(one),
    plane: 'admin',
    credential,
    draft: async () => {
      const path = await requests.place(one);
      const { body, query = '', headers = {} } = requests.right(one);
      const isJson = body !== undefined && typeof body !== 'string';
      return {
        method: one.method,
        path,
        query: query.replace(/^\?/, ''),
        headers: { ...(isJson && { 'content-type': 'application/json' }), ...headers },
        body,
      };
    },
  };
}

/** A body that most endpoints accept. */
const commonBody = {
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'hello' }],
  input: 'hello',
  prompt: 'hello',
  contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
  max_tokens: 5,
  max_completion_tokens: 5,
  max_output_tokens: 5,
};
/** Objects that refuse unknown members have bodies of their own. */
const ownBodies: Readonly<Record<string, object>> = {
  'POST /v1/vector_stores': { name: 'one' },
  'POST /v1/threads': {},
  'POST /v1/conversations': {},
  'POST /v1/assistants': { model: 'gpt-4o' },
  'POST /v1/threads/{threadId}/messages': { role: 'user', content: 'hello' },
  'POST /v1/responses': { model: 'gpt-4o', input: 'hello', max_output_tokens: 5 },
};
const boundary = 'fuzz-boundary';
/** Endpoints whose valid requests carry a file. */
const uploads = /\/(?:files|transcriptions|translations|edits|variations|parts)$/;

/** `ids` are those of stored objects by parameter, and grow while objects are created. */
export function gatewayRoute(
  one: GatewayOperation,
  config: string,
  ids: Readonly<Record<string, string>>,
): FuzzedRoute {
  const name = nameOf(one);
  return {
    ...one,
    name,
    plane: 'inference',
    statuses: [],
    credential: 'key',
    draft: async () => {
      const body = one.method === 'POST' ? (ownBodies[name] ?? commonBody) : undefined;
      const isUpload = one.isForm && uploads.test(one.path);
      const path = one.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
        return parameter === 'model' ? 'gpt-4o' : (ids[parameter] ?? 'abc-123');
      });
      const type = isUpload ? `multipart/form-data; boundary=${boundary}` : 'application/json';
      return {
        method: one.method,
        path,
        query: '',
        headers: {
          'x-gateway-config': config,
          ...(body === undefined ? {} : { 'content-type': type }),
        },
        body: isUpload ? formOf({ model: 'gpt-4o', purpose: 'assistants' }) : body,
      };
    },
  };
}

/** A multipart body with fields and one file. */
export function formOf(fields: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file =
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n` +
    'content-type: text/plain\r\n\r\nhello\r\n';
  return Buffer.from(`${parts.join('')}${file}--${boundary}--\r\n`);
}

const anyObject: Schema = { type: 'object', additionalProperties: true };
const rpcSchema: Schema = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
    method: { type: 'string' },
    params: { type: 'object', properties: { name: { type: 'string' }, arguments: anyObject } },
    result: anyObject,
    error: anyObject,
  },
};

const legacyVersion = '2025-11-25';
const modernVersion = '2026-07-28';
const client = { name: 'fuzz', version: '1' };
/** Methods of MCP with the parameters of a valid request. */
const mcpCalls: readonly (readonly [string, object])[] = [
  ['initialize', { protocolVersion: legacyVersion, capabilities: {}, clientInfo: client }],
  ['ping', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'echo', arguments: { text: 'hello' } }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'greet', arguments: {} }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'test://readme' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: '' } },
  ],
  ['logging/setLevel', { level: 'info' }],
  ['server/discover', {}],
  ['notifications/initialized', {}],
  ['notifications/cancelled', { requestId: 1 }],
];

/** Requests of both eras of MCP to the server of this slug. */
export function mcpRoutes(slug: string, session: () => Promise<string>): FuzzedRoute[] {
  const eras = ['legacy', 'modern'] as const;
  const calls = eras.flatMap((era) =>
    mcpCalls.map(([method, params]) => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': modernVersion,
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const body = {
        jsonrpc: '2.0',
        ...(method.startsWith('notifications/') ? {} : { id: 1 }),
        method,
        params: era === 'modern' ? { ...params, _meta: meta } : params,
      };
      const { name, uri } = params as { name?: string; uri?: string };
      const named = name ?? uri;
      const headers = async (): Promise<Record<string, string>> =>
        era === 'modern'
          ? {
              'mcp-protocol-version': modernVersion,
              'mcp-method': method,
              ...(named === undefined ? {} : { 'mcp-name': named }),
            }
          : {
              'mcp-protocol-version': legacyVersion,
              ...(method === 'initialize' ? {} : { 'mcp-session-id': await session() }),
            };
      return mcpRoute(`${era} ${method}`, 'POST', `/${slug}/mcp`, headers, body);
    }),
  );
  const own = [
    ['DELETE', `/${slug}/mcp`],
    ['GET', `/${slug}/mcp`],
    ['GET', `/.well-known/oauth-protected-resource/${slug}/mcp`],
    ['GET', '/livez'],
  ] as const;
  const none = async () => ({});
  return [
    ...calls,
    ...own.map(([method, path]) => mcpRoute(`${method} ${path}`, method, path, none, undefined)),
  ];
}

function mcpRoute(
  name: string,
  method: string,
  path: string,
  headers: () => Promise<Record<string, string>>,
  body: unknown,
): FuzzedRoute {
  return {
    name: `mcp ${name}`,
    plane: 'mcp',
    statuses: [],
    schema: body === undefined ? undefined : rpcSchema,
    queries: {},
    headers: ['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name'],
    credential: 'mcpKey',
    draft: async () => ({
      method,
      path,
      query: '',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(await headers()),
      },
      body,
    }),
  };
}

const plainPaths = ['/metrics', '/livez', '/readyz', '/startupz'];
const consolePaths = ['/console', '/console/', '/console/index.html', '/console/docs/'];

/** Probes, metrics and files of the console. */
export function plainRoutes(): FuzzedRoute[] {
  const route = (plane: Plane, path: string): FuzzedRoute => ({
    name: `${plane} GET ${path}`,
    plane,
    statuses: [],
    schema: undefined,
    queries: {},
    headers: ['if-none-match', 'accept-encoding'],
    credential: 'none',
    draft: async () => ({ method: 'GET', path, query: '', headers: {}, body: undefined }),
  });
  return [
    ...plainPaths.map((path) => route('metrics', path)),
    ...consolePaths.map((path) => route('metrics', path)),
  ];
}
