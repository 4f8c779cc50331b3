/**
 * Verifies that statements on tenant rows name the tenant and transactions use one tenant, because
 * that selects the shard.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Connection } from 'mysql2';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import { packSource } from '../../../src/model/kinds/sync-source.ts';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import * as mcpAnsweredStates from '../../../src/store/mcp/mcp-answered-states.ts';
import { exchange } from '../../support/network/exchange.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import type { TestServer } from '../../support/server/server.ts';
import { addTenant, type Send } from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';
import { oneChange, revisionBody, syncReport } from '../../support/sync/sync-records.ts';
import { everyKind, onlyOnes, openSync } from '../../support/sync/sync-setup.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const vschema = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../migrations/vschema.json'), 'utf8'),
);
const tenantTables = Object.keys(vschema.gatewright.tables);
const jobs = [
  'expire-keys',
  'reset-usage',
  'delete-old-usage',
  'delete-old-answers',
  'charge-lost-slices',
  'delete-old-logs',
  'delete-old-responses',
  'expire-runs',
  'delete-unused-threads',
  'find-lost-objects',
  'forget-gone-objects',
  'settle-open-charges',
  'end-lost-responses',
  'delete-expired-files',
  'delete-unused-blobs',
  'empty-vector-stores',
  'seal-audit-log',
  'delete-ended-sessions',
];
const yearMs = 366 * 86_400_000;

interface SentStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly connection: unknown;
}

const sent: SentStatement[] = [];
const organisationIds = new Set<unknown>();

/** Writes, reads and deletes everything in every way, for two tenants at once. */
async function useEverything(inference: Inference): Promise<void> {
  const { server } = inference;
  const other = await addTenant(server);
  organisationIds.add(server.organisationId).add(other.organisationId);
  await using sync = openSync(server);
  const manifests = everyKind + prompts + onlyOnes;
  await sync.cycle(manifests);
  await sync.cycle(manifests.replaceAll('1000', '2000').replace('attempts: 3', 'attempts: 4'));
  await usePrompts(inference);
  await use((method, path, options) => server.request(method, path, options));
  await use(other.send);
  await keepObjects(inference);
  await logRequest(server);
  await answerState(server);
  await useRun(server);
  await server.request('GET', '/v1/configs', { auth: 'key' });
  await useUp(server);
  server.clock.advance(yearMs);
  for (const job of jobs) await server.app.jobs.runNow(job);
  server.clock.advance(2 * yearMs);
  for (const job of jobs) await server.app.jobs.runNow(job);
  await sync.cycle('');
}

/** Answers a request state of an MCP call, as the retry of a limited call does. */
async function answerState({ database, organisationId, clock }: TestServer): Promise<void> {
  const now = clock.now();
  const row = { organisation_id: organisationId, id: newId(), expires_at: now + 1000 };
  await mcpAnsweredStates.insertOnce(database.db, row, now);
  await mcpAnsweredStates.remove(database.db, organisationId, row.id);
}

const prompts = `---
apiVersion: gatewright.dev/v1
kind: PromptLabel
metadata: {name: staging, workspace: support}
spec: {description: up to 1000}
---
apiVersion: gatewright.dev/v1
kind: PromptCollection
metadata: {name: answers, workspace: support}
spec: {slug: answers}
---
apiVersion: gatewright.dev/v1
kind: PromptPartial
metadata: {name: tone, workspace: support}
spec: {slug: tone, string: Answer in 1000 words.}
---
apiVersion: gatewright.dev/v1
kind: Prompt
metadata: {name: welcome, workspace: support}
spec: {slug: welcome, collectionRef: answers, string: '{{>tone}}', parameters: {max_tokens: 1000}}
`;

/** Updates, publishes, labels, moves and renders a prompt in every way that names a version. */
async function usePrompts({ server }: Inference): Promise<void> {
  const ask = async (method: string, path: string, body?: object) => {
    const { status, body: answer } = await server.request(method, `/v1${path}`, { body });
    expect({ path, status, answer }).toMatchObject({ status: 200 });
    return answer;
  };
  const { id: label } = await ask('POST', '/labels', { name: 'production' });
  const { id: child } = await ask('POST', '/collections', {
    name: 'child',
    workspace_id: (await ask('GET', '/collections/answers')).workspace_id,
    parent_collection_id: 'answers',
  });
  await ask('PUT', '/prompts/welcome', { string: 'Bye', collection_id: child });
  await ask('PUT', '/prompts/welcome', { virtual_key: 'openai' });
  await ask('PUT', '/prompts/welcome/versions/latest', { label_id: label });
  for (const version of ['1', 'latest', 'default', 'production', label]) {
    await server.request('GET', `/v1/prompts/welcome?version=${version}`);
  }
  await ask('PUT', '/prompts/welcome/makeDefault', { version: 2 });
  await ask('POST', '/prompts/welcome/render', {});
  for (const list of ['/prompts?collection_id=answers', '/labels?search=p', '/collections']) {
    await ask('GET', list);
  }
  for (const of of ['/prompts/welcome', '/prompts/partials/tone']) {
    await ask('GET', `${of}/versions`);
  }
  await ask('DELETE', `/labels/${label}`);
  const { id } = await ask('POST', '/prompts', { name: 'p', string: 'Hi', collection_id: child });
  await ask('DELETE', `/prompts/${id}`);
  await ask('PUT', '/prompts/welcome', { collection_id: 'answers' });
  await ask('DELETE', `/collections/${child}`);
}

/** Creates, reads and deletes a response, requests an unknown one, and registers a gateway. */
async function keepObjects({ server, upstream, addKey }: Inference): Promise<void> {
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  const place = { workspace_id: (await post('/v2/workspaces', { name: 'keeper' })).id };
  const integration = await post('/v1/integrations', {
    name: 'groq',
    ai_provider_id: 'groq',
    key: 'sk-any',
    configurations: { custom_host: upstream.url },
  });
  const { slug } = await post('/v1/providers', {
    ...place,
    name: 'groq',
    integration_id: integration.id,
  });
  const config = await post('/v2/configs', {
    ...place,
    name: 'groq',
    config: { provider: `@${slug}` },
  });
  const { key } = await addKey({ ...place, defaults: { config_id: config.slug } });
  const url = `${server.inferenceUrl}/v1/responses`;
  const headers = { authorization: `Bearer ${key}` };
  const ask = (method: string, at: string, body?: object) => exchange(method, at, body, headers);
  upstream.script = (_, response) => sendJson(response, chatAnswer);
  const made = await ask('POST', url, { model: 'm', input: 'a' });
  for (const id of [made.body.id, 'resp_none']) {
    await ask('GET', `${url}/${id}`);
    await ask('DELETE', `${url}/${id}`);
  }
  const conversations = `${server.inferenceUrl}/v1/conversations`;
  await ask('POST', conversations, {});
  upstream.script = (_, response) => void response.destroy();
  await ask('POST', conversations, {});
  upstream.script = (_, response) => sendJson(response, { data: [{ embedding: [1] }] });
  await keepFiles(`${server.inferenceUrl}/v1`, headers);
  const { id } = await post('/v1/deployments', { name: 'one', deployment_config: {} });
  await server.request('DELETE', `/v1/deployments/${id}`);
  await exportLog(server);
}

/** Writes, downloads and deletes an export. */
async function exportLog(server: TestServer): Promise<void> {
  const path = '/v1/logs/exports';
  await logRequest(server);
  const filters = {
    time_of_generation_min: '2026-01-01T00:00:00Z',
    time_of_generation_max: '2028-01-01T00:00:00Z',
  };
  const { id } = (await server.request('POST', path, { body: { filters } })).body;
  await server.request('PUT', `${path}/${id}`, { body: { description: 'a' } });
  await server.request('POST', `${path}/${id}/start`);
  await server.app.jobs.runNow('write-log-exports');
  const { body } = await server.request('GET', `${path}/${id}/download`);
  expect((await fetch(body.signed_url)).status).toBe(200);
  await server.request('GET', `${path}/field-restrictions`);
  await server.request('GET', path);
  await server.request('DELETE', `${path}/${id}`);
}

/** Uploads, embeds and finds a file in a vector store; both expire. */
async function keepFiles(url: string, headers: Record<string, string>): Promise<void> {
  const ask = async (method: string, path: string, body?: object) =>
    (await exchange(method, url + path, body, headers)).body;
  const form = new FormData();
  form.set('file', new File(['text'], 'a.txt'));
  form.set('purpose', 'assistants');
  form.set('expires_after[anchor]', 'created_at');
  form.set('expires_after[seconds]', '3600');
  const sentFile = await fetch(`${url}/files`, { method: 'POST', body: form, headers });
  const { id: file } = (await sentFile.json()) as { id: string };
  const days = { anchor: 'last_active_at', days: 1 };
  const { id } = await ask('POST', '/vector_stores', { file_ids: [file], expires_after: days });
  await eventually(async () => {
    const { status } = await ask('GET', `/vector_stores/${id}/files/${file}`);
    expect(status).toBe('completed');
  });
  await ask('GET', '/vector_stores');
  await ask('GET', '/files');
  const { data } = await ask('POST', `/vector_stores/${id}/search`, { query: 'text' });
  expect(data).toHaveLength(1);
}

/** Starts a run without a usable model, in a thread that is deleted with it, and adds to conversations. */
async function useRun(server: TestServer): Promise<void> {
  const made = await server.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'caller', scopes: ['completions.write'] },
  });
  const headers = { authorization: `Bearer ${made.body.key}` };
  const ask = async (method: string, path: string, body?: object) =>
    (await exchange(method, `${server.inferenceUrl}/v1${path}`, body, headers)).body;
  const { id } = await ask('POST', '/assistants', { model: 'm' });
  const thread = { messages: [{ role: 'user', content: 'hello' }] };
  const run = await ask('POST', '/threads/runs', { assistant_id: id, thread });
  const path = `/threads/${run.thread_id}`;
  await eventually(async () =>
    expect(await ask('GET', `${path}/runs/${run.id}`)).toMatchObject({ status: 'failed' }),
  );
  await ask('POST', '/threads', thread);
  await ask('DELETE', path);
  await ask('DELETE', `/assistants/${id}`);
  const items = [{ role: 'user', content: 'hello' }];
  const [first, deleted] = [
    await ask('POST', '/conversations', { items }),
    await ask('POST', '/conversations', { items }),
  ];
  const listed = await ask('GET', `/conversations/${first.id}/items`);
  expect(listed.data).toHaveLength(1);
  await ask('DELETE', `/conversations/${deleted.id}`);
}

/** Writes a row of the request log. */
async function logRequest({ app: { database }, organisationId }: TestServer): Promise<void> {
  const log = new RequestLog({ database, onLoss: () => {} });
  log.record(requestRecord(organisationId));
  await log.close(60_000);
}

/** Uses up a budget and a rate limit of a key, in a process that then disappears. */
async function useUp({ app: { database }, organisationId, clock }: TestServer): Promise<void> {
  const ledger = createLedger({ database, clock });
  const { id } = await database.db.selectFrom('api_keys').select('id').executeTakeFirstOrThrow();
  const one: Omit<Limit, 'type' | 'isRate'> = {
    organisationId,
    subjectId: id,
    windowStart: 0,
    endsAt: 1,
    subjectKind: 'api_key',
    valueKey: '',
    limitUnits: 10,
    alertThresholdUnits: 5,
    isHard: true,
    label: 'API key',
  };
  const bound = { inputTokens: 6, likelyInputTokens: 6, outputTokens: 0, outputTokensMin: 0 };
  const account = ledger.open();
  const limits: Limit[] = [
    { ...one, type: 'tokens', isRate: false },
    { ...one, type: 'requests', isRate: true, valueKey: 'requests rpm' },
  ];
  await account.admit(limits, { ...bound, price: null });
  const usage = { inputTokens: 6, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };
  account.settle({ ...usage, costUnits: 0 });
  await ledger[Symbol.asyncDispose]();
  const place = { organisation_id: organisationId, holder: Buffer.alloc(16, 1) };
  await database.db
    .insertInto('usage_holders')
    .values({ ...place, sequence: 1, lease_until: 0 })
    .execute();
  const { id: counterId } = await database.db
    .selectFrom('usage_counters')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow();
  await database.db
    .updateTable('usage_counters')
    .set({ reserved_units: 1 })
    .where('organisation_id', '=', organisationId)
    .execute();
  const of = { ...place, is_rate: 0, subject_kind: 'api_key', subject_id: idToBytes(id) } as const;
  await database.db
    .insertInto('usage_slices')
    .values({ ...of, window_start: 0, counter_id: counterId, units: 1 })
    .execute();
}

async function use(send: Send): Promise<void> {
  const headers = { 'idempotency-key': 'once' };
  const workspace = await send('POST', '/admin/v2/workspaces', {
    body: { name: 'short lived', usage_limits: [{ credit_limit: 9, periodic_reset: 'weekly' }] },
    headers,
  });
  const place = { workspace_id: workspace.body.id };
  const key = await send('POST', '/v1/api-keys/workspace/service', {
    body: {
      name: 'bot',
      scopes: ['completions.write'],
      ...place,
      expires_at: '2027-03-01T00:00:00Z',
      usage_limits: { credit_limit: 5, periodic_reset: 'weekly' },
    },
  });
  await send('PUT', `/v1/api-keys/${key.body.id}`, { body: { reset_usage: true } });
  await send('POST', '/v2/configs', { body: { name: 'c', config: {}, isDefault: 1 } });
  await send('POST', '/v2/configs', { body: { name: 'd', config: {}, isDefault: 1, ...place } });
  await usePeople(send, workspace.body.id);
  await useScopes(send);
  await useMcp(send, workspace.body.id);
  await record(send);
  for (const path of lists) await send('GET', path);
  await send('DELETE', `/admin/v2/workspaces/${workspace.body.id}`, { body: { force: true } });
}

async function useScopes(send: Send): Promise<void> {
  const path = '/iam/v1/scopes';
  await send('POST', path, { body: { name: 'ws' } });
  await send('PUT', `${path}/ws`, { body: { description: 'changed' } });
  await send('GET', path);
  await send('DELETE', `${path}/ws`);
}

/** Creates an MCP integration with access for a workspace, and its server. */
async function useMcp(send: Send, workspace: string): Promise<void> {
  const path = '/v2/mcp-integrations';
  const integration = await send('POST', path, {
    body: { name: 'm', url: 'https://mcp.invalid', auth_type: 'none', transport: 'http' },
  });
  const at = `${path}/${integration.body.id}`;
  for (const enabled of [true, false, true]) {
    await send('PUT', `${at}/workspaces`, { body: { workspaces: [{ id: workspace, enabled }] } });
  }
  await send('GET', `${at}/workspaces`);
  await send('POST', `${at}/sync`, { body: { server_info: {}, capabilities: [] } });
  const made = { name: 'm', mcp_integration_id: integration.body.id, workspace_id: workspace };
  const server = await send('POST', '/v2/mcp-servers', { body: made });
  const served = `/v2/mcp-servers/${server.body.id}`;
  const off = { name: 't', type: 'tool', enabled: false };
  await send('PUT', `${served}/capabilities`, { body: { capabilities: [off] } });
  await send('GET', `${served}/capabilities`);
  const [owner] = (await send('GET', '/v1/admin/users?role=owner')).body.data;
  for (const enabled of [true, false]) {
    const body = { user_access: [{ user_id: owner.id, enabled }] };
    await send('PUT', `${served}/user-access`, { body });
  }
  await send('GET', `${served}/user-access?search=a`);
  await send('GET', `${served}/user-access/check?user_id=${owner.id}`);
  await send('PUT', served, { body: { user_access: [], disabled_capabilities: [] } });
  await send('PUT', `${served}/tokens`, { body: { access_token: 'a' } });
  for (const what of ['tokens', 'connections']) {
    await send('GET', `${served}/${what}`);
    await send('DELETE', `${served}/${what}`);
  }
  await send('POST', `${served}/test`);
  await send('GET', '/v0.1/servers?search=m');
  await send('POST', `${served}/capabilities/sync`);
  const moved = { url: 'https://other.example.com', disabled_capabilities: [] };
  await send('PUT', at, { body: moved });
  await send('DELETE', served);
  await send('PUT', at, { body: { workspaces: [] } });
  await send('DELETE', at);
}

/** Adds the owner to a workspace and removes them, and cancels an invite. */
async function usePeople(send: Send, workspace: string): Promise<void> {
  const { body } = await send('GET', '/v1/admin/users?search=a&role=member');
  expect(body.total).toBe(0);
  const [owner] = (await send('GET', '/v1/admin/users?role=owner')).body.data;
  const path = `/v1/admin/workspaces/${workspace}/users`;
  await send('PUT', `/v1/admin/workspaces/${workspace}`, {
    body: { settings: { user_api_key_auto_create: true, user_api_keys_max: 1 } },
  });
  for (const role of ['member', 'manager']) {
    await send('POST', path, { body: { users: [{ id: owner.id, role }] } });
  }
  await send('GET', `${path}?email=a`);
  await send('PUT', `${path}/${owner.id}`, { body: { role: 'admin' } });
  const mapped = { workspace_id: workspace, role: 'member', scim_group_name: 'all' };
  const mapping = await send('POST', '/v1/scim/workspaces', { body: mapped });
  await send('GET', `/v1/scim/workspaces?workspace_id=${workspace}`);
  await send('GET', '/v1/scim/groups?search=a');
  await send('DELETE', `/v1/scim/workspaces/${mapping.body.id}`);
  await send('DELETE', `${path}/${owner.id}`);
  await provision(send, workspace);
  const invites = '/v1/admin/users/invites';
  const { id } = (await send('POST', invites, { body: { email: 'a@b.example', role: 'member' } }))
    .body;
  await send('GET', `${invites}?status=expired`);
  await send('POST', `${invites}/${id}/resend`);
  await send('DELETE', `${invites}/${id}`);
}

/** Creates, changes and deletes SCIM users and groups. */
async function provision(send: Send, workspace: string): Promise<void> {
  const path = '/v1/scim/v2';
  const user = await send('POST', `${path}/Users`, { body: { userName: 'c@d.example' } });
  const { id } = user.body;
  const members = [{ value: id }];
  const group = await send('POST', `${path}/Groups`, { body: { displayName: 'g', members } });
  const mapped = { workspace_id: workspace, role: 'member', scim_group_id: group.body.id };
  await send('POST', '/v1/scim/workspaces', { body: mapped });
  await send('GET', `${path}/Users?filter=userName%20eq%20%22c%40d.example%22`);
  await send('GET', `${path}/Groups`);
  await send('PUT', `${path}/Users/${id}`, { body: { userName: 'c@d.example', active: false } });
  await send('DELETE', `${path}/Groups/${group.body.id}`);
  await send('DELETE', `${path}/Users/${id}`);
}

/** Records sync runs and suspensions. */
async function record(send: Send): Promise<void> {
  const path = '/admin/v2/gatewright/sync';
  const headers = await leaseHeaders(send, 'recorder');
  await send('PUT', `${path}/status`, { body: syncReport(), headers });
  const copy = { repo: '/source', revision: 'c1', environment: null, environments: [], files: [] };
  const files = await packSource(copy);
  await send('PUT', `${path}/sources`, { body: { commit: 'c1', files }, headers });
  for (let run = 0; run < 51; run += 1) {
    await send('POST', `${path}/revisions`, { body: revisionBody({ change_count: 2 }), headers });
  }
  const more = { body: { start: 1, changes: [{ ...oneChange, name: 'second' }] }, headers };
  await send('PUT', `${path}/revisions/51/changes`, more);
  await send('GET', `${path}/revisions/51?owner=recorder`);
  await send('GET', `${path}/revisions?owner=recorder`);
  await send('PUT', `${path}/suspensions`, { body: { owner: 'recorder', reason: 'a test' } });
  const resources = [{ kind: 'Config', id: '01a1ffa6-2a67-76f7-a225-ed57537ed994' }];
  await send('POST', `${path}/releases`, { body: { resources }, headers });
  await send('POST', `${path}/key-uses`, { body: { ids: [resources[0]!.id] } });
  await send('GET', `${path}/status`);
  await send('DELETE', `${path}/suspensions?owner=recorder`);
}

const lists = [
  '/admin/v2/workspaces',
  '/v1/api-keys',
  '/v2/configs',
  '/v2/guardrails',
  '/v2/mcp-servers',
  '/admin/v2/mcp-integrations',
  '/v2/guardrails/mcp-mappings',
  '/v2/policies/usage-limits',
  '/v2/policies/rate-limits',
  '/v2/audit-logs',
];

let inference: Inference;

beforeAll(async () => {
  const send = Connection.prototype.query;
  vi.spyOn(Connection.prototype, 'query').mockImplementation(function (this: unknown, ...given) {
    const [query, others] = given as unknown as [{ sql: string } | string, unknown];
    const sql = typeof query === 'string' ? query : query.sql;
    const values: readonly unknown[] = Array.isArray(others) ? others : [];
    sent.push({ text: sql.replaceAll('`', ''), values: values.flat(), connection: this });
    return Reflect.apply(send, this, given);
  });
  inference = await startInference();
  sent.length = 0;
  await useEverything(inference);
  vi.restoreAllMocks();
});
afterAll(() => inference[Symbol.asyncDispose]());

const tablesOf = ({ text }: SentStatement): string[] =>
  [...text.matchAll(/\b(?:from|join|into|update)\s+(\w+)/gi)]
    .map(([, table]) => table!)
    .filter((table) => tenantTables.includes(table));

/**
 * Tables behind the snapshot or lists. Excluded: last use and expiry of keys, and budget windows.
 */
const snapshotTables = [
  'workspaces',
  'guardrails',
  'configs',
  'api_keys',
  'mcp_integrations',
  'mcp_servers',
  'guardrail_mcp_mappings',
  'usage_limit_policies',
  'rate_limit_policies',
  'integrations',
  'integration_workspaces',
  'providers',
  'mcp_integration_workspaces',
  'gateway_deployments',
  'prompt_labels',
  'prompt_collections',
  'prompt_partials',
  'prompts',
  'managed_resources',
];
const reportedChanges = ({ text }: SentStatement): boolean =>
  snapshotTables.includes(/^\s*(?:insert into|update|delete from) (\w+)/i.exec(text)?.[1] ?? '') &&
  !/\bset\s+(?:last_used_at|status = 'expired'|last_reset_at|window_start)/i.test(text);
/** The first change under a slot inserts its row after an update that finds none. */
const marks = ({ text }: SentStatement): boolean =>
  /^(insert into|update) snapshot_marks\b/.test(text);

/** Tables behind lists of people. */
const peopleTables = ['users', 'user_invites', 'workspace_members', 'scim_groups', 'scim_mappings'];
const changesPeople = ({ text }: SentStatement): boolean =>
  peopleTables.includes(/^\s*(?:insert into|update|delete from) (\w+)/i.exec(text)?.[1] ?? '') &&
  !/\bset pending_key = /i.test(text);
const marksPeople = ({ text }: SentStatement): boolean =>
  text.startsWith('insert into people_marks');

const namesTenant = ({ text }: SentStatement): boolean =>
  /\borganisation_id = \?/i.test(text) ||
  /^\s*insert[^(]*\([^)]*\borganisation_id\b[^)]*\)\s*values/i.test(text);

describe('the statements sent to the database', () => {
  it('covers every table of a tenant', () => {
    const reached = new Set(sent.flatMap(tablesOf));
    // Only processes of a region and their home use the tables of regions. Parts of the sealed snapshot
    // are found by their digests, and nobody can open those of others.
    const missing = tenantTables.filter((table) => !reached.has(table) && !/region/.test(table));
    expect(missing).toEqual(['snapshot_parts']);
  });

  it('names the organisation, except to find a credential or to find due work for a job', () => {
    // The gateway polls for changes of many organisations in one statement.
    const looked = sent.filter(({ text }) => !/^\s*select .* from snapshot_marks\b/is.test(text));
    const unnamed = looked.filter((one) => tablesOf(one).length > 0 && !namesTenant(one));
    const texts = unnamed.map(({ text }) => text);
    expect(texts.filter((text) => !/^\s*select\b/i.test(text))).toEqual([]);
    // A gateway reads the markers of all known organisations from time to time.
    const tables = unnamed.flatMap(tablesOf).filter((table) => table !== 'snapshot_marks');
    expect(new Set(tables)).toEqual(
      new Set([
        'api_keys',
        'usage_budgets',
        'usage_limit_policies',
        'usage_slices',
        'usage_windows',
        'idempotency_keys',
        'usage_holders',
        'rate_counters',
        'responses',
        'conversations',
        'files',
        'blobs',
        'vector_stores',
        'runs',
        'threads',
        'audit_log',
        'user_sessions',
        'sign_in_links',
        'mcp_session_notes',
        'log_exports',
        'pending_objects',
        'owned_objects',
        'open_charges',
        'semantic_answers',
      ]),
    );
  });

  it('concerns one organisation from the beginning of a transaction to its end', () => {
    const open = new Map<unknown, Set<unknown>>();
    const transactions: Set<unknown>[] = [];
    for (const { text, values, connection } of sent) {
      if (text === 'begin') transactions.push(open.set(connection, new Set()).get(connection)!);
      // On a busy machine a transaction may be rolled back, and its connection goes to the next
      // caller.
      else if (text === 'commit' || text === 'rollback') open.delete(connection);
      const about = open.get(connection);
      for (const value of values) if (organisationIds.has(value)) about?.add(value);
    }
    expect(transactions.filter(({ size }) => size === 1).length).toBeGreaterThan(20);
    expect(transactions.filter(({ size }) => size > 1)).toEqual([]);
  });

  it('marks changes of the snapshot and of lists in the same transaction, as its last statement', () => {
    const open = new Map<unknown, SentStatement[]>();
    const committed: SentStatement[][] = [];
    for (const one of sent) {
      const { text, connection } = one;
      if (text === 'begin') open.set(connection, []);
      else if (text === 'rollback') open.delete(connection);
      else if (text === 'commit') {
        committed.push(open.get(connection)!);
        open.delete(connection);
      } else if (open.has(connection)) open.get(connection)!.push(one);
      else expect(reportedChanges(one) || changesPeople(one), text).toBe(false);
    }
    const changed = (which: typeof reportedChanges) =>
      new Set(committed.flatMap((all) => all.filter(which)).flatMap(tablesOf));
    expect(changed(reportedChanges)).toEqual(new Set(snapshotTables));
    expect(changed(changesPeople)).toEqual(new Set(peopleTables));
    for (const statements of committed) {
      const due = [
        ...(statements.some(changesPeople) ? ['people'] : []),
        ...(statements.some(reportedChanges) ? ['snapshot'] : []),
      ];
      const reported: string[] = statements.map((one) =>
        marksPeople(one) ? 'people' : marks(one) ? 'snapshot' : '',
      );
      const trailing = reported.filter((kind) => kind !== '');
      const last = trailing.filter((kind, at) => kind !== trailing[at - 1]);
      expect(last).toEqual(['people', 'snapshot'].filter((kind) => last.includes(kind)));
      expect(last).toEqual(expect.arrayContaining(due));
      expect(reported.slice(reported.length - trailing.length)).toEqual(trailing);
    }
  });
});
