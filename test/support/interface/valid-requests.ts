/**
 * Builds a valid request for every operation of the OpenAPI document, and sends it to a real
 * server.
 */
import { randomUUID } from 'node:crypto';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { insertCounter } from '../rows/usage-rows.ts';
import { addUser } from '../server/people.ts';
import type { TestServer } from '../server/server.ts';
import { addSession } from '../server/sessions.ts';
import { leaseHeaders } from '../sync/lease.ts';
import { type Description, nameOf, type Operation } from './response-check.ts';

export interface RequestParts {
  readonly body?: unknown;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const isOwnSession = ({ path }: Operation): boolean => path === '/v1/session';

export const isToken = ({ path }: Operation): boolean => path === '/oauth2/access_token';

/** The only tool of the MCP integration, whose definition requests approve. */
const definedTool = { type: 'tool', name: 'defined' } as const;

/** Parameters that are not the id of the preceding path segment. */
const words: Record<string, string> = {
  type: 'workspace',
  subType: 'service',
  owner: 'platform',
  number: '1',
  group: 'models',
  graph: 'errors',
  part: 'rate',
  key: 'team',
  chart: 'cost',
  dimension: 'model',
  provider: 'openai',
  model: 'gpt-4o',
};

/** The owner whose lease is held throughout. */
const recorder = 'recorder';

/** Every create body, and the updates that change something else than the name. */
const bodies: Record<string, (at: RightRequests) => unknown> = {
  '/oauth2/access_token': ({ server }) =>
    `grant_type=client_credentials&scope=tsg_id%3A${server.tsgId}`,
  '/iam/v1/access_policies': ({ server }) => ({
    principal: 'anna@example.com',
    resource: `prn:${server.tsgId}::::`,
    role: `r${randomUUID()}`,
  }),
  '/organisations/{tsgId}/auth-settings': () => ({
    auth_settings: { disable_auto_provision_user: true },
  }),
  '/admin/workspaces/{id}/users': ({ ids }) => ({ users: [{ id: ids.users, role: 'member' }] }),
  '/admin/users/invites': () => ({ email: `${randomUUID()}@example.com`, role: 'member' }),
  '/admin/organisation/defaults': () => ({ export_settings: { deniedFields: ['response'] } }),
  '/workspace-exclusions/input-guardrails': () => ({ workspaces: [] }),
  '/workspace-exclusions/output-guardrails': () => ({ workspaces: [] }),
  '/scim/v2/Users': () => ({ userName: `${randomUUID()}@example.com` }),
  '/scim/v2/Users/{id}': () => ({ userName: `${randomUUID()}@example.com` }),
  '/scim/v2/Groups': () => ({ displayName: randomUUID() }),
  '/scim/v2/Groups/{id}': () => ({ displayName: randomUUID() }),
  '/scim/workspaces/{id}': () => ({ role: 'admin' }),
  '/scim/workspaces': ({ ids }) => ({
    workspace_id: ids.workspaces,
    role: 'Member',
    scim_group_name: randomUUID(),
  }),
  '/workspaces/{id}/guardrails': ({ ids }) => ({ mcp_input_guardrails: [ids.guardrails] }),
  '/guardrail-exclusions/{guardrailExclusionId}': () => ({ input_guardrails: true }),
  '/guardrail-exclusions': ({ ids }) => ({ workspace_id: ids.excluded, output_guardrails: true }),
  '/feedback': () => ({ trace_id: 'trace', value: 1 }),
  '/feedback/{feedbackId}': () => ({ value: 2 }),
  '/guardrails': () => ({ name: 'one', target: 'mcp_tools' }),
  '/guardrails/{guardrailId}/test': () => ({ text: 'one' }),
  '/guardrails/{guardrailId}/mcp-servers': () => ({ mcp_servers: {} }),
  '/guardrails/{guardrailId}/mcp-servers/{mcpServerId}': () => ({ run_on: ['output'] }),
  '/configs': () => ({ name: 'one', config: { retry: { attempts: 1 } } }),
  '/api-keys': ({ ids }) => ({
    name: 'k',
    scopes: ['completions.write'],
    user_id: ids.users,
    workspace_id: ids.workspaces,
  }),
  '/deployments': () => ({
    name: randomUUID(),
    deployment_config: {},
    auth_settings: { gateway_base_url: 'https://gateway.invalid' },
  }),
  '/secret-references': () => ({
    name: 'one',
    manager_type: 'aws_sm',
    secret_path: 'prod',
    auth_config: { aws_auth_type: 'serviceRole' },
  }),
  '/mcp-integrations': () => ({
    // An address without a listener, which fails without a network request.
    name: 'one',
    url: 'https://mcp.invalid',
    auth_type: 'none',
    transport: 'http',
  }),
  '/mcp-integrations/{mcpIntegrationId}/capabilities': () => ({
    capabilities: [{ name: `t${randomUUID()}`, type: 'tool', enabled: true }],
  }),
  '/mcp-integrations/{mcpIntegrationId}/workspaces': ({ ids }) => ({
    workspaces: [{ id: ids.workspaces, enabled: true }],
  }),
  '/mcp-integrations/{mcpIntegrationId}/sync': () => ({ capabilities: [definedTool] }),
  '/mcp-integrations/{mcpIntegrationId}/definitions/approve': ({ ids }) => ({
    definitions: [{ ...definedTool, digest: ids.digests }],
  }),
  '/mcp-integrations/{mcpIntegrationId}/test': () => ({}),
  '/mcp-servers': ({ ids }) => ({
    name: 'one',
    mcp_integration_id: ids['mcp-integrations'],
    workspace_id: ids.workspaces,
  }),
  '/mcp-servers/{mcpServerId}/capabilities': () => ({
    capabilities: [{ name: `t${randomUUID()}`, type: 'tool', enabled: true }],
  }),
  '/mcp-servers/{mcpServerId}/user-access': ({ ids }) => ({
    user_access: [{ user_id: ids.users, enabled: true }],
  }),
  '/mcp-servers/{mcpServerId}/tokens': () => ({ access_token: 'a' }),
  '/mcp-servers/{mcpServerId}/test': () => ({}),
  '/mcp-servers/{mcpServerId}/capabilities/sync': () => ({ capabilities: [definedTool] }),
  '/mcp-servers/{mcpServerId}/metadata/sync': () => ({ title: 'one' }),
  '/integrations': () => ({ name: 'one', ai_provider_id: 'openai' }),
  '/integrations/{integrationId}/models': () => ({
    models: [{ slug: randomUUID(), enabled: true }],
  }),
  '/integrations/{integrationId}/integration-models': () => ({
    models: [{ slug: randomUUID(), enabled: true }],
  }),
  '/integrations/{integrationId}/workspaces': ({ ids }) => ({
    workspaces: [{ id: ids.workspaces, enabled: true, reset_usage: true }],
  }),
  '/providers': ({ ids }) => ({
    name: 'one',
    integration_id: ids.integrations,
    workspace_id: ids.workspaces,
  }),
  '/virtual-keys': ({ ids }) => ({
    name: 'one',
    provider: 'openai',
    key: 'k',
    workspace_id: ids.workspaces,
  }),
  '/service-accounts': () => ({ name: `a${randomUUID()}`, roles: ['view_only_admin'] }),
  '/service-accounts/{accountId}': () => ({ description: randomUUID() }),
  '/tsgs': () => ({ name: randomUUID() }),
  '/tsgs/{tsgId}': () => ({ name: randomUUID() }),
  '/labels': () => ({ name: `l${randomUUID()}` }),
  '/collections': ({ ids }) => ({ name: 'one', workspace_id: ids.workspaces }),
  '/prompts/partials': () => ({ name: 'one', string: 'Be kind.' }),
  '/prompts/partials/{partialId}/makeDefault': () => ({ version: 1 }),
  '/prompts': ({ ids }) => ({ name: 'one', string: 'Hello', collection_id: ids.collections }),
  '/prompts/{promptId}/makeDefault': () => ({ version: 1 }),
  '/prompts/{promptId}/versions/{versionId}': ({ ids }) => ({ label_id: ids.labels }),
  '/prompts/{promptId}/render': () => ({ variables: {} }),
  '/policies/rate-limits': ({ ids }) => ({
    conditions: [{ key: 'model', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpm',
    value: 1,
    workspace_id: ids.workspaces,
  }),
  '/policies/usage-limits': ({ ids }) => ({
    conditions: [{ key: 'model', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'cost',
    credit_limit: 1,
    workspace_id: ids.workspaces,
  }),
  '/gatewright/changes': () => ({
    mode: 'atomic',
    changes: [
      {
        kind: 'Config',
        action: 'create',
        body: { name: 'one', config: { retry: { attempts: 1 } } },
      },
    ],
  }),
  '/gatewright/leases/{owner}': () => ({
    run_id: '01a1ffa6-2a67-76f7-a225-ed57537ed994',
    holder: 'test',
    ttl_seconds: 9,
  }),
  '/gatewright/sync/status': () => ({
    source: '/srv',
    commit_seen: null,
    commit_applied: null,
    state: 'Synced',
    message: null,
    error: null,
    drift_count: 0,
    next_look_at: null,
    workspaces: [],
  }),
  '/gatewright/sync/revisions': () => ({
    commit: 'a1',
    source: '/srv',
    ending: 'success',
    changes: [],
    change_count: 9,
    started_at: '2027-01-04T08:00:00Z',
    finished_at: '2027-01-04T08:00:01Z',
  }),
  '/gatewright/sync/revisions/{number}/changes': () => ({
    start: 0,
    changes: [
      {
        action: 'create',
        kind: 'Config',
        workspace: null,
        name: 'one',
        resource_id: null,
        fields: [],
      },
    ],
  }),
  '/logs': () => ({
    request: { provider: 'openai', body: { model: 'gpt-4o' } },
    response: { response_time: 7 },
  }),
  '/logs/exports': () => ({ filters: exported }),
  '/logs/exports/{exportId}': () => ({ description: randomUUID() }),
  '/gatewright/sync/key-uses': () => ({ ids: [randomUUID()] }),
  '/gatewright/sync/releases': ({ ids }) => ({
    resources: [{ kind: 'Config', id: ids.configs ?? randomUUID() }],
  }),
  '/gatewright/sync/suspensions': () => ({ owner: recorder, reason: 'a test' }),
  '/gatewright/key-proofs': ({ server }) => ({ keys: [{ value: server.organisationApiKey }] }),
};

const exported = {
  time_of_generation_min: '2027-01-04T00:00:00Z',
  time_of_generation_max: '2027-01-05T00:00:00Z',
};

export class RightRequests {
  readonly server: TestServer;
  /** Ids of the created resources, by the path segment before their parameter. */
  readonly ids: Record<string, string> = {};
  readonly #description: Description;
  readonly #token: string;
  readonly #judge: (faults: readonly string[]) => void;

  #lease: Record<string, string> = {};
  #cookies: Record<string, string> = {};
  /** A link to the file of the export. */
  #link = '';

  /** Passes the faults of every response to `judge`. */
  constructor(
    server: TestServer,
    description: Description,
    token: string,
    judge: (faults: readonly string[]) => void,
  ) {
    this.server = server;
    this.#description = description;
    this.#token = token;
    this.#judge = judge;
  }

  /** Creates one of everything. */
  async furnish(): Promise<void> {
    const { ids, server } = this;
    this.#lease = await leaseHeaders(server.request, recorder);
    ids.workspaces = await this.#make('/v2/workspaces');
    ids.users = await addUser(server);
    await this.#join(ids.users);
    await this.#signIn();
    const plain = ['guardrails', 'guardrail-exclusions', 'configs', 'api-keys', 'mcp-integrations'];
    for (const path of [...plain, 'secret-references', 'deployments']) {
      ids[path] = await this.#make(`/v2/${path}`);
    }
    ids.digests = await this.#defineTool();
    ids.invites = await this.#make('/v1/admin/users/invites');
    for (const path of ['Users', 'Groups']) ids[path] = await this.#make(`/v1/scim/v2/${path}`);
    ids.ResourceTypes = 'User';
    ids.Schemas = 'urn:ietf:params:scim:schemas:core:2.0:Group';
    ids.scopes = await this.#make('/iam/v1/scopes');
    ids.service = ids['api-keys']!;
    ids.user = await this.#make('/v2/api-keys/user');
    ids['mcp-servers'] = await this.#make('/v2/mcp-servers');
    ids.integrations = await this.#make('/v2/integrations');
    ids.providers = await this.#make('/v2/providers');
    ids['virtual-keys'] = await this.#make('/v2/virtual-keys');
    for (const path of ['labels', 'collections', 'prompts', 'service-accounts', 'tsgs']) {
      ids[path] = await this.#make(`/v2/${path}`);
    }
    ids.partials = await this.#make('/v2/prompts/partials');
    ids.versions = '1';
    ids.access_policies = await this.#make('/iam/v1/access_policies');
    ids['rate-limits'] = await this.#make('/v2/policies/rate-limits');
    const policy = await this.#make('/v2/policies/usage-limits');
    ids['usage-limits'] = policy;
    const subject = { organisationId: server.organisationId, kind: 'policy', id: policy } as const;
    const counter = { windowStart: server.clock.now(), used: 1, valueKey: 'a' };
    ids.entities = await insertCounter(server.database.db, subject, counter);
    const revisions = this.#operation('POST', '/admin/v2/gatewright/sync/revisions');
    await this.ask(revisions, revisions.path, this.right(revisions));
    ids.feedback = await this.#make('/v2/feedback');
    ids.organisations = server.organisationId;
    ids.logs = await this.#make('/v2/logs');
    await this.#export();
  }

  /** Returns the digest of the tool's definition. */
  async #defineTool(): Promise<string> {
    const { ids, server } = this;
    const place = `/v2/mcp-integrations/${ids['mcp-integrations']}`;
    await server.request('POST', `${place}/sync`, { body: { capabilities: [definedTool] } });
    const { body } = await server.request('GET', `${place}/definitions`);
    return body.data[0].seen_digest;
  }

  /** Creates an export that is written, and the link to its file. */
  async #export(): Promise<void> {
    const { ids, server } = this;
    ids.exports = await this.#make('/v2/logs/exports');
    const path = `/v2/logs/exports/${ids.exports}`;
    await server.request('POST', `${path}/start`);
    await server.app.jobs.runNow('write-log-exports');
    const { body } = await server.request('GET', `${path}/download`);
    this.#link = new URL(body.signed_url).search;
  }

  /** Returns the path of another export, which is not started, or running for a cancellation. */
  async #placeOfExport(path: string): Promise<string> {
    const place = `/v2/logs/exports/${await this.#make('/v2/logs/exports')}`;
    if (path.endsWith('/cancel')) await this.server.request('POST', `${place}/start`);
    return path.replace(/^.*\/\{\w+\}/, (item) => item.replace(/[^/]+$/, place.split('/').at(-1)!));
  }

  /**
   * A workspace has at most one, so each creation uses another workspace; updates use the same one.
   */
  async #placeOfExclusion(method: string, found: string): Promise<string> {
    if (method === 'POST') this.ids.excluded = await this.#make('/v2/workspaces');
    if (method !== 'PUT' && method !== 'DELETE') return found;
    const collection = '/v2/guardrail-exclusions';
    return found.replace(/[^/]+$/, await this.#make(collection));
  }

  /** Returns a path that the operation finds; a delete or rotation gets an object of its own. */
  async place({ method, path }: Operation): Promise<string> {
    const [keys, isRotation] = path.split(/\/\{\w+\}(?=\/rotate$)/);
    if (isRotation !== undefined) return `${keys}/${await this.#make(keys!)}/rotate`;
    if (path.includes('/logs/exports/{') && method !== 'GET') return this.#placeOfExport(path);
    const found = filled(path, (resource) => this.ids[resource]!);
    if (/\/users\/\{\w+\}$/.test(path) && method !== 'GET') return this.#placeOfUser(found);
    const isMapping = path.includes('{guardrailId}') && path.includes('{mcpServerId}');
    if (isMapping) await this.#putMapping(path, found);
    if (forgetsModels({ method, path })) await this.#putModel(found);
    // Putting the same value twice is no change.
    const [, put] = /\/(mcp-\w+)\/\{\w+\}\/(?:workspaces|user-access)$/.exec(path) ?? [];
    if (put !== undefined && method === 'PUT') {
      return found.replace(this.ids[put]!, await this.#make(`/v2/${put}`));
    }
    if (
      /\/(?:organisation\/defaults|workspaces\/\{id\}\/guardrails)$/.test(path) &&
      method === 'PUT'
    ) {
      await this.server.request('DELETE', found);
    }
    if (path.endsWith('/scim/workspaces/{id}')) {
      return found.replace(/[^/]+$/, await this.#make('/v2/scim/workspaces'));
    }
    if (path.includes('/guardrail-exclusions')) return this.#placeOfExclusion(method, found);
    if (path.endsWith('/sessions/{sessionId}')) {
      const { id } = await addSession(this.server, this.ids.users!);
      return found.replace(/[^/]+$/, id);
    }
    const isItem = path.endsWith('}') && !path.includes('/leases/');
    if (isMapping || method !== 'DELETE' || !isItem) return found;
    const collection = path.replace(/\/\{\w+\}$/, '');
    return `${collection}/${await this.#make(collection)}`;
  }

  /** Returns the parts of a valid request other than its path. */
  right(one: Operation): RequestParts {
    const { method, path, takesBody } = one;
    const gives = path.includes('/leases/') && method === 'DELETE';
    const records = path.includes('/sync/') && one.headers.includes('gatewright-owner');
    const asksOwner = path.includes('/sync/') && !records && !takesBody;
    return {
      body: takesBody && method !== 'DELETE' ? this.#bodyOf(method, path) : undefined,
      query: asksOwner ? `?owner=${recorder}` : this.#queryOf(one),
      headers: { ...(gives && { 'gatewright-fence': '1' }), ...(records && this.#lease) },
    };
  }

  /** Sends the request with the superuser's token, or with the given headers. */
  async ask(one: Operation, path: string, requested: RequestParts): Promise<TestResponse> {
    const url = this.server.url + path + (requested.query ?? '');
    const isGuarded = one.statuses.includes('401');
    const bearer = { authorization: `Bearer ${this.#token}` };
    const credential = isToken(one) ? this.client() : isOwnSession(one) ? this.#cookies : bearer;
    const bringsKey = 'x-gateway-api-key' in (requested.headers ?? {});
    const headers = { ...(isGuarded && !bringsKey ? credential : {}), ...requested.headers };
    const answer = await exchange(one.method, url, requested.body, headers);
    this.#judge(this.#description.faults(one, answer));
    if (isOwnSession(one) && one.method === 'DELETE' && answer.status === 200) {
      await this.#signIn();
    }
    return answer;
  }

  client(secret: string = this.server.clientSecret): Record<string, string> {
    const basic = Buffer.from(`${this.server.clientId}:${secret}`).toString('base64');
    const type = 'application/x-www-form-urlencoded';
    return { authorization: `Basic ${basic}`, 'content-type': type };
  }

  async #make(collection: string): Promise<string> {
    // A workspace has at most one.
    if (collection.endsWith('/guardrail-exclusions')) {
      this.ids.excluded = await this.#make('/v2/workspaces');
    }
    const isKeys = collection.endsWith('/api-keys');
    const path = isKeys ? `${collection}/{type}/{subType}` : collection;
    const one = this.#operation('POST', path);
    const { body } = await this.ask(one, filled(path, String), this.right(one));
    if (collection.endsWith('/guardrail-exclusions')) {
      this.ids.excluded = await this.#make('/v2/workspaces');
    }
    if (collection === '/iam/v1/scopes') return body.name;
    // The response of a virtual key contains only its slug.
    return body.id ?? body.feedback_ids?.[0] ?? body.log_ids?.[0] ?? body.data.slug;
  }

  /** Another user each time, who does not have the role of the request and may be deleted. */
  async #placeOfUser(found: string): Promise<string> {
    const id = await addUser(this.server, { role: 'admin' });
    if (found.includes('/workspaces/')) await this.#join(id);
    return found.replace(/[^/]+$/, id);
  }

  async #signIn(): Promise<void> {
    const { id, headers } = await addSession(this.server, this.ids.users!);
    this.ids.sessions = id;
    this.#cookies = headers;
  }

  async #join(id: string): Promise<void> {
    const path = `/v1/admin/workspaces/${this.ids.workspaces}/users`;
    const one = this.#operation('POST', '/v1/admin/workspaces/{id}/users');
    await this.ask(one, path, { body: { users: [{ id, role: 'admin' }] } });
  }

  /** Uses another value than the body, because putting the stored value is no change. */
  async #putMapping(path: string, place: string): Promise<void> {
    await this.ask(this.#operation('PUT', path), place, { body: { run_on: ['input'] } });
  }

  /** A model without overrides has nothing to delete. */
  async #putModel(place: string): Promise<void> {
    const body = { models: [{ slug: 'forgotten', enabled: true }] };
    const path = place.replace(/[0-9a-f-]{36}/, '{integrationId}');
    await this.ask(this.#operation('PUT', path), place, { body });
  }

  #operation(method: string, path: string): Operation {
    const name = nameOf({ method, path });
    return this.#description.operations.find((one) => nameOf(one) === name)!;
  }

  #queryOf(one: Operation): string {
    const { method, path } = one;
    if (forgetsModels(one)) return '?slugs=forgotten';
    if (path.endsWith('/file')) return this.#link;
    if (path.endsWith('/static-resources/schema')) return '?resource=guardrails';
    if (path.endsWith('/snapshot')) return `?owner=${recorder}`;
    const isChart = /^\/v2\/(?:logs$|logs\/(?:charts|groups)\/|analytics\/filter-b)/.test(path);
    return isChart && method === 'GET' ? `?workspaceSlug=${this.ids.workspaces}` : '';
  }

  #bodyOf(method: string, path: string): unknown {
    const plain = path.replace(/^\/(?:v1|v2|admin\/v2)(?=\/)/, '');
    if (/\/(?:rotate|resend)$/.test(plain)) return {};
    if (method === 'PATCH') {
      return { Operations: [{ op: 'Add', value: { externalId: randomUUID() } }] };
    }
    if (/\/users\/\{\w+\}$/.test(plain)) return { role: 'member' };
    const isKey = method === 'POST' && plain.startsWith('/api-keys');
    return (bodies[isKey ? '/api-keys' : plain] ?? (() => ({ name: randomUUID() })))(this);
  }
}

function forgetsModels({ method, path }: Pick<Operation, 'method' | 'path'>): boolean {
  return method === 'DELETE' && path.endsWith('/models');
}

/** A path with its parameters; `idOf` returns the id for the segment before each. */
export function filled(path: string, idOf: (resource: string) => string): string {
  const named = path.replaceAll(/\{(\w+)\}/g, (braced, name: string) => words[name] ?? braced);
  return named.replaceAll(/([\w-]+)\/\{\w+\}/g, (_, resource: string) => {
    return `${resource}/${idOf(resource)}`;
  });
}
