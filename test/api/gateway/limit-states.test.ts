/** Verifies that budgets read as exhausted as soon as they refuse a request, and alert the people responsible. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listAlertRecipients } from '../../../src/jobs/alert-recipients.ts';
import * as users from '../../../src/store/people/users.ts';
import * as usageAlerts from '../../../src/store/usage/usage-alerts.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { addUser } from '../../support/server/people.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
const params = { max_tokens: 20, messages: [] };

let owner: string;

beforeAll(async () => {
  inference = await startInference();
  await addUser(inference.server, { email: addressOf('organisation-admin'), role: 'admin' });
  const { rows } = await users.list(
    inference.server.database.db,
    inference.server.organisationId,
    { role: 'owner' },
    { limit: 2, offset: 0 },
  );
  expect(rows).toHaveLength(1);
  owner = rows[0]!.email;
});

beforeEach(() => {
  inference.upstream.script = (_, response) =>
    sendJson(response, { ...chatAnswer, usage: { prompt_tokens: 45, completion_tokens: 50 } });
});

afterAll(() => inference[Symbol.asyncDispose]());

async function send(method: string, path: string, body?: object) {
  const response = await inference.server.request(method, path, body === undefined ? {} : { body });
  expect(response, JSON.stringify(response.body)).toMatchObject({ status: 200 });
  return response.body;
}

const budget = { type: 'tokens', credit_limit: 100 };

/** A budget of 100 tokens: the key that uses it, its state, and how it is raised. */
interface LimitedCaller {
  readonly key: string;
  readonly config: object | null;
  readonly headers?: Record<string, string>;
  /** Null where records show no state. */
  readonly state: (() => Promise<string>) | null;
  readonly raise: (limit: number) => Promise<unknown>;
  readonly alertKind: string;
  /** Recipients of alerts that the budget itself names. */
  readonly emails?: readonly string[];
}

let made = 0;

const addressOf = (name: string) => `${name}@example.com`;

/** Creates a workspace with a member of each role, and one who is inactive. */
async function makeWorkspace(): Promise<{ readonly id: string }> {
  made += 1;
  const users: { readonly id: string; readonly role: string }[] = [];
  for (const role of ['admin', 'manager', 'member']) {
    for (const status of ['active', 'inactive'] as const) {
      const email = addressOf(`${role}-${status}-${made}`);
      const id = await addUser(inference.server, { email, role: 'member', status });
      users.push({ id, role });
    }
  }
  return send('POST', '/v2/workspaces', { name: `w-${made}`, users });
}

/** Recipients of an alert in the last workspace, besides the owner and those that the budget names. */
const responsible = () => [
  ...['admin', 'manager'].map((role) => addressOf(`${role}-active-${made}`)),
  addressOf('organisation-admin'),
];

async function makeProvider(more: { readonly provider?: object; readonly integration?: object }) {
  const workspace = await makeWorkspace();
  const slug = `p-${made}`;
  const integration = await send('POST', '/v1/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: 'k',
    configurations: { custom_host: inference.upstream.url },
    ...more.integration,
  });
  const provider = await send('POST', '/v1/providers', {
    name: slug,
    slug,
    integration_id: integration.id,
    workspace_id: workspace.id,
    ...more.provider,
  });
  const { key } = await inference.addKey({ workspace_id: workspace.id });
  const headers = { 'x-gateway-provider': `@${slug}` };
  return { workspace, integration, provider, slug, key, headers, config: null };
}

const callers: Record<string, () => Promise<LimitedCaller>> = {
  'an API key': async () => {
    const { id: workspace_id } = await makeWorkspace();
    const alert_emails = [addressOf('of-the-key')];
    const limited = { workspace_id, alert_emails, usage_limits: budget };
    const { key, id } = await inference.addKey(limited);
    return {
      key,
      config: {},
      emails: alert_emails,
      alertKind: 'api_key',
      state: async () => (await send('GET', `/v1/api-keys/${id}`)).status,
      raise: (credit_limit) =>
        send('PUT', `/v1/api-keys/${id}`, { usage_limits: { ...budget, credit_limit } }),
    };
  },
  'a provider, which is also a virtual key': async () => {
    const made = await makeProvider({ provider: { usage_limits: budget } });
    const at = `workspace_id=${made.workspace.id}`;
    return {
      ...made,
      alertKind: 'provider',
      state: async () => {
        const { status } = await send('GET', `/v1/virtual-keys/${made.slug}?${at}`);
        expect((await send('GET', `/v1/providers/${made.slug}?${at}`)).status).toBe(status);
        return status;
      },
      raise: (credit_limit) =>
        send('PUT', `/v1/providers/${made.slug}?${at}`, {
          usage_limits: { ...budget, credit_limit },
        }),
    };
  },
  'a workspace': async () => {
    const { id: workspace_id } = await makeWorkspace();
    const path = `/v2/workspaces/${workspace_id}`;
    const raise = (credit_limit: number) =>
      send('PUT', path, { usage_limits: [{ ...budget, credit_limit }] });
    await raise(100);
    const { key } = await inference.addKey({ workspace_id });
    return { key, config: {}, raise, alertKind: 'workspace', state: null };
  },
  'a workspace of an integration': async () => {
    const made = await makeProvider({});
    const path = `/v1/integrations/${made.slug}/workspaces`;
    const grant = (credit_limit: number) =>
      send('PUT', path, {
        workspaces: [
          { id: made.workspace.id, enabled: true, usage_limits: [{ ...budget, credit_limit }] },
        ],
      });
    await grant(100);
    return {
      ...made,
      alertKind: 'integration_workspace',
      state: async () => (await send('GET', path)).workspaces[0].status,
      raise: grant,
    };
  },
  'a workspace of an integration with a limit for all': async () => {
    const global = (credit_limit: number) => ({
      global_workspace_access: { enabled: true, usage_limits: [{ ...budget, credit_limit }] },
    });
    const made = await makeProvider({ integration: global(100) });
    const path = `/v1/integrations/${made.slug}/workspaces`;
    await send('PUT', path, { workspaces: [{ id: made.workspace.id, enabled: true }] });
    return {
      ...made,
      alertKind: 'integration',
      state: async () => (await send('GET', path)).workspaces[0].status,
      raise: (credit_limit) => send('PUT', path, { workspaces: [], ...global(credit_limit) }),
    };
  },
  'a value of a policy': async () => {
    const { id: workspace_id } = await makeWorkspace();
    const { key, id } = await inference.addKey({ workspace_id });
    const policy = await send('POST', '/v1/policies/usage-limits', {
      workspace_id,
      conditions: [{ key: 'api_key', value: id }],
      group_by: [{ key: 'api_key' }],
      ...budget,
    });
    const path = `/v1/policies/usage-limits/${policy.id}`;
    return {
      key,
      config: {},
      alertKind: 'policy',
      state: async () => {
        const { value_key_usage_map: map } = await send('GET', `${path}?include_usage=true`);
        const [{ status }] = Object.values(map) as [{ status: string }];
        expect(await send('GET', `${path}/entities?status=${status}`)).toMatchObject({ total: 1 });
        const other = status === 'active' ? 'exhausted' : 'active';
        expect(await send('GET', `${path}/entities?status=${other}`)).toMatchObject({ total: 0 });
        return status;
      },
      raise: (credit_limit) => send('PUT', path, { credit_limit }),
    };
  },
};

describe.each(Object.entries(callers))('the budget of %s', (_, make) => {
  it('is exhausted once it has refused a request, until its limit is raised', async () => {
    const { key, config, headers = {}, state, raise, alertKind, emails = [] } = await make();
    const ask = () => inference.chat(key, { params, config, headers });
    await eventually(async () => expect((await ask()).status).toBe(200));
    if (state !== null) await eventually(async () => expect(await state()).toBe('active'));
    expect(await ask()).toMatchObject({ status: 412 });
    if (state !== null) expect(await state()).toBe('exhausted');
    const { db } = inference.server.database;
    const due = await usageAlerts.listDue(db, Number.MAX_SAFE_INTEGER, 100);
    const alerts = due.filter(({ subject_kind: kind }) => kind === alertKind);
    expect(alerts).toMatchObject([{ kind: 'exhausted', used_units: 95, limit_units: 100 }]);
    const recipients = await listAlertRecipients(db, alerts[0]!);
    expect(recipients.toSorted()).toEqual([...emails, ...responsible(), owner].toSorted());
    await raise(1_000);
    if (state !== null) expect(await state()).toBe('active');
    await eventually(async () => expect((await ask()).status).toBe(200));
  });
});

it('stays active after a request that even an unused budget would refuse', async () => {
  const { key, id } = await inference.addKey({ usage_limits: budget });
  const messages = [{ role: 'user', content: 'x'.repeat(5_000) }];
  expect(await inference.chat(key, { params: { messages } })).toMatchObject({ status: 412 });
  expect((await send('GET', `/v1/api-keys/${id}`)).status).toBe('active');
});

it('lets an API key that was refused a large request continue to use the Admin API', async () => {
  const { key } = await inference.addKey({
    usage_limits: budget,
    workspace_id: (await makeWorkspace()).id,
    scopes: ['completions.write', 'configs.list'],
  });
  const headers = { 'x-gateway-api-key': key };
  expect((await inference.chat(key, { params })).status).toBe(200);
  expect((await inference.chat(key, { params })).status).toBe(412);
  const listed = await inference.server.request('GET', '/v1/configs', { headers, auth: 'none' });
  expect(listed).toMatchObject({ status: 200 });
});
