/** Verifies the allowance of budgets for outages: kept for tools that do not know it, removed by null and by another type. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function send(method: string, path: string, body?: object) {
  const response = await server.request(method, path, body === undefined ? {} : { body });
  expect(response, JSON.stringify(response.body)).toMatchObject({ status: 200 });
  return response.body;
}

const budget = { type: 'tokens', credit_limit: 100 };
const allowing = { ...budget, on_outage_allowance: 30 };

/** A budget of one kind of resource. */
interface BudgetOwner {
  readonly path: string;
  readonly bodyOf: (budget: object) => object;
  readonly read: () => Promise<{ readonly on_outage_allowance?: number | null } | undefined>;
}

let made = 0;

const kinds: Record<string, (budget: object) => Promise<BudgetOwner>> = {
  'an API key': async (limits) => {
    const bodyOf = (usage_limits: object) => ({ usage_limits });
    const { id } = await send('POST', '/v1/api-keys/organisation/service', {
      name: `key-${made}`,
      scopes: ['logs.view'],
      ...bodyOf(limits),
    });
    const path = `/v1/api-keys/${id}`;
    return { path, bodyOf, read: async () => (await send('GET', path)).usage_limits };
  },
  'a workspace': async (limits) => {
    const bodyOf = (one: object) => ({ usage_limits: [one] });
    const { id } = await send('POST', '/admin/v2/workspaces', {
      name: `w-${made}`,
      ...bodyOf(limits),
    });
    const path = `/admin/v2/workspaces/${id}`;
    return { path, bodyOf, read: async () => (await send('GET', path)).usage_limits[0] };
  },
  'a policy': async (limits) => {
    const { id: workspace_id } = await send('POST', '/admin/v2/workspaces', { name: `w-${made}` });
    const { id } = await send('POST', '/v1/policies/usage-limits', {
      workspace_id,
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
      ...limits,
    });
    const path = `/v1/policies/usage-limits/${id}`;
    return { path, bodyOf: (one) => one, read: () => send('GET', path) };
  },
  'all workspaces of an integration': async (limits) => {
    const bodyOf = (one: object) => ({
      global_workspace_access: { enabled: true, usage_limits: [one] },
    });
    const { slug } = await send('POST', '/v1/integrations', {
      name: `i-${made}`,
      slug: `i-${made}`,
      ai_provider_id: 'openai',
      key: 'k',
      ...bodyOf(limits),
    });
    const path = `/v1/integrations/${slug}`;
    const read = async () =>
      (await send('GET', path)).global_workspace_access_settings.usage_limits[0];
    return { path, bodyOf, read };
  },
};

describe.each(Object.entries(kinds))('the budget of %s', (_, make) => {
  it('keeps its allowance until null or another type removes it', async () => {
    made += 1;
    const { path, bodyOf, read } = await make(allowing);
    expect(await read()).toMatchObject({ on_outage_allowance: 30 });
    await send('PUT', path, bodyOf({ ...budget, credit_limit: 200 }));
    expect(await read()).toMatchObject({ on_outage_allowance: 30, credit_limit: 200 });
    await send('PUT', path, bodyOf({ ...budget, on_outage_allowance: null }));
    expect((await read())?.on_outage_allowance ?? null).toBeNull();
    await send('PUT', path, bodyOf(allowing));
    await send('PUT', path, bodyOf({ type: 'cost', credit_limit: 100 }));
    expect((await read())?.on_outage_allowance ?? null).toBeNull();
  });

  it('is stored with whole units and absent without an allowance', async () => {
    made += 1;
    const { read } = await make({ type: 'cost', credit_limit: 100, on_outage_allowance: 1.5 });
    expect(await read()).toMatchObject({ on_outage_allowance: 1.5 });
    made += 1;
    const other = await make(budget);
    expect(await other.read()).not.toHaveProperty('on_outage_allowance');
  });

  it.each([0, -1, 0.5])('refuses an allowance of %s tokens and names it', async (amount) => {
    made += 1;
    const { path, bodyOf } = await make(budget);
    const body = bodyOf({ ...budget, on_outage_allowance: amount });
    const { status, body: answer } = await server.request('PUT', path, { body });
    expect([status, JSON.stringify(answer)]).toEqual([
      400,
      expect.stringContaining('on_outage_allowance'),
    ]);
  });
});
