/**
 * Verifies key rotation: id and usage remain, at most two values are valid, each expires on time,
 * and no rotation runs twice.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import type { TestResponse } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant } from '../../support/server/tenant.ts';

const halfHourMs = 1_800_000;
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function make(fields: object = {}): Promise<{ id: string; key: string }> {
  const body = { name: 'bot', scopes: ['completions.write', 'workspaces.list'], ...fields };
  const made = await server.request('POST', '/v1/api-keys/organisation/service', { body });
  expect(made.status).toBe(200);
  return made.body;
}

function rotate(id: string, body?: object, headers?: Record<string, string>) {
  return server.request('POST', `/v1/api-keys/${id}/rotate`, {
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  });
}

/** The status of a request with this value. */
async function statusWith(key: string): Promise<number> {
  const headers = { 'x-gateway-api-key': key };
  return (await server.request('GET', '/v1/workspaces', { auth: 'none', headers })).status;
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}

async function record(id: string) {
  return (await server.request('GET', `/v1/api-keys/${id}`)).body;
}

interface HeldLease {
  readonly headers: Record<string, string>;
  readonly managed_by: object;
}

/** Acquires a lease of a new owner; returns the headers for its writes. */
async function hold(): Promise<HeldLease> {
  const owner = `owner-${randomUUID()}`;
  const body = { run_id: randomUUID(), holder: 'test', ttl_seconds: 60 };
  const lease = await server.request('PUT', `/admin/v2/gatewright/leases/${owner}`, { body });
  return {
    headers: { 'gatewright-owner': owner, 'gatewright-fence': String(lease.body.fence) },
    managed_by: {
      owner,
      workspace: null,
      name: owner,
      source: { repo: 'r', revision: null },
      last_applied: {},
    },
  };
}

describe('a rotation', () => {
  it('returns 403 to a caller with fewer rights than the key, and changes nothing', async () => {
    const { id, key } = await make({ scopes: ['completions.write', 'configs.read'] });
    const rotates = 'organisation_service_api_keys.rotate';
    const lesser = await addKeyCaller(server, [rotates, 'completions.write']);
    const before = await record(id);
    for (const body of [undefined, { key_transition_period_ms: halfHourMs }]) {
      const refused = await lesser.send('POST', `/v1/api-keys/${id}/rotate`, { body });
      expect([refused.status, refused.body.error.code]).toEqual([403, 'AB03']);
      expect(refused.body.error.message).toContain('configs.read');
      expect(JSON.stringify(refused.body)).not.toContain(key);
    }
    expect(await record(id)).toEqual(before);
    const equal = await addKeyCaller(server, [rotates, 'completions.write', 'configs.read']);
    expect((await equal.send('POST', `/v1/api-keys/${id}/rotate`)).status).toBe(200);
    const own = await equal.send('POST', `/v1/api-keys/${equal.id}/rotate`);
    expect(own.status).toBe(200);
  });

  it('keeps id, scopes, budget and usage, and returns a new value once', async () => {
    const { id, key } = await make({ usage_limits: { type: 'cost', credit_limit: 5 } });
    const before = await record(id);
    server.clock.advance(1_000);
    const { status, body } = await rotate(id);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['id', 'key', 'key_transition_expires_at']);
    expect(body.id).toBe(id);
    expect(body.key).not.toBe(key);
    const after = await record(id);
    expect(after).toEqual({
      ...before,
      key: `${body.key.slice(0, 2)}*****${body.key.slice(-3)}`,
      rotated_at: at(server.clock.now()),
      last_updated_at: at(server.clock.now()),
      key_transition_expires_at: at(server.clock.now() + halfHourMs),
    });
    expect(JSON.stringify([after, server.logLines])).not.toContain(body.key);
  });

  it('keeps the previous value valid up to the last millisecond of the transition', async () => {
    const { id, key } = await make();
    const { body } = await rotate(id, { key_transition_period_ms: 3_600_000 });
    expect(body.key_transition_expires_at).toBe(at(server.clock.now() + 3_600_000));
    expect([await statusWith(key), await statusWith(body.key)]).toEqual([200, 200]);
    server.clock.advance(3_600_000 - 1);
    expect([await statusWith(key), await statusWith(body.key)]).toEqual([200, 200]);
    server.clock.advance(1);
    expect([await statusWith(key), await statusWith(body.key)]).toEqual([401, 200]);
  });

  it('is rejected while the previous value is valid, and possible from its end on', async () => {
    const { id } = await make();
    await rotate(id);
    server.clock.advance(halfHourMs - 1);
    const second = await rotate(id);
    expect(second.status).toBe(409);
    expect(second.body.error.message).toContain('is being rotated');
    server.clock.advance(1);
    expect((await rotate(id)).status).toBe(200);
  });

  it('succeeds for one of a hundred concurrent requests', async () => {
    const { id, key } = await make();
    const answers = await Promise.all(Array.from({ length: 100 }, () => rotate(id)));
    const done = answers.filter(({ status }) => status === 200);
    expect(done).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(99);
    expect([await statusWith(key), await statusWith(done[0]!.body.key)]).toEqual([200, 200]);
    expect(await valuesOf(id)).toHaveLength(2);
  });

  it('deletes expired values, so that a key never has more than two', async () => {
    const { id } = await make();
    for (let turn = 0; turn < 4; turn += 1) {
      expect((await rotate(id)).status).toBe(200);
      server.clock.advance(halfHourMs);
    }
    expect(await valuesOf(id)).toHaveLength(2);
  });

  it.each([
    [{ rotation_period: 'weekly' }, '2027-01-11T00:00:00.000Z'],
    [{ rotation_period: 'monthly' }, '2027-02-01T00:00:00.000Z'],
  ])('advances the next rotation of %j once it is due', async (terms, first) => {
    const start = server.clock.now();
    server.clock.set(Date.UTC(2027, 0, 4, 8));
    const { id } = await make({
      rotation_policy: { ...terms, key_transition_period_ms: 7_200_000 },
    });
    expect((await record(id)).rotation_policy.next_rotation_at).toBe(first);
    server.clock.set(Date.parse(first) - 5_000);
    const { body } = await rotate(id);
    expect(body.key_transition_expires_at).toBe(at(Date.parse(first) - 5_000 + 7_200_000));
    const { next_rotation_at: next } = (await record(id)).rotation_policy;
    expect(Date.parse(next)).toBeGreaterThan(Date.parse(first));
    server.clock.set(start);
  });

  it.each([
    [{ key_transition_period_ms: 1_799_999 }, 'key_transition_period_ms'],
    [{ key_transition_period_ms: 86_400_000 }, 'key_transition_period_ms'],
    [{ key: makeApiKey('') }, 'key'],
    [{ await_delivery: true }, 'await_delivery'],
  ])('is rejected with %j', async (body, param) => {
    const { id } = await make({ rotation_policy: { rotation_period_days: 1 } });
    expect(await rotate(id, body)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('evaluates If-Match', async () => {
    const { id } = await make();
    expect((await rotate(id, {}, { 'if-match': '"7"' })).status).toBe(412);
    expect((await rotate(id, {}, { 'if-match': '"1"' })).status).toBe(200);
  });

  it('requires the scope for the type of the key, and returns 404 for other tenants and sub-types', async () => {
    const { id } = await make();
    const { send } = await addKeyCaller(server, ['organisation_service_api_keys.update']);
    expect((await send('POST', `/v1/api-keys/${id}/rotate`)).status).toBe(403);
    const wrong = await addKeyCaller(server, ['workspace_service_api_keys.rotate']);
    expect((await wrong.send('POST', `/v1/api-keys/${id}/rotate`)).status).toBe(403);
    const its = ['completions.write', 'workspaces.list'];
    const right = await addKeyCaller(server, ['organisation_service_api_keys.rotate', ...its]);
    expect((await right.send('POST', `/v1/api-keys/${id}/rotate`)).status).toBe(200);
    const tenant = await addTenant(server, 'rotation-other');
    expect((await tenant.send('POST', `/v1/api-keys/${id}/rotate`)).status).toBe(404);
    expect((await server.request('POST', `/v2/api-keys/user/${id}/rotate`)).status).toBe(404);
  });

  it('writes an audit row with the end of the transition, without a value', async () => {
    const { id } = await make();
    const { body } = await rotate(id);
    const rows = await server.database.db
      .selectFrom('audit_log')
      .selectAll()
      .where('resource_id', '=', id)
      .where('action', '=', 'rotate')
      .execute();
    expect(rows).toHaveLength(1);
    expect(rows[0]!.changes).toContain(body.key_transition_expires_at);
    expect(JSON.stringify(rows)).not.toContain(body.key);
  });

  it('ends with its key: no value of a deleted key is valid', async () => {
    const { id, key } = await make();
    const { body } = await rotate(id);
    await server.request('DELETE', `/v1/api-keys/${id}`);
    expect([await statusWith(key), await statusWith(body.key)]).toEqual([401, 401]);
    expect(await valuesOf(id)).toEqual([]);
  });
});

describe('a rotation with a value from the caller', () => {
  async function own(): Promise<HeldLease & { id: string; key: string }> {
    const held = await hold();
    const body = { name: 'bot', scopes: ['workspaces.list'], managed_by: held.managed_by };
    const options = { body, headers: held.headers };
    const made = await server.request('POST', '/v1/api-keys/organisation/service', options);
    expect(made.status).toBe(200);
    return { ...held, ...made.body };
  }

  function turn(
    { id, managed_by, headers }: HeldLease & { id: string },
    key: string,
    fields: object = {},
  ): Promise<TestResponse> {
    return rotate(id, { key, managed_by, ...fields }, headers);
  }

  it('is executed once however often it is sent, with the same response and the same end', async () => {
    const held = await own();
    const value = makeApiKey('');
    const first = await turn(held, value);
    expect(first.status).toBe(200);
    server.clock.advance(1_000);
    expect((await turn(held, value)).body).toEqual(first.body);
    expect(await valuesOf(held.id)).toHaveLength(2);
  });

  it('keeps the previous value without an end until the new one is delivered', async () => {
    const held = await own();
    const value = makeApiKey('');
    const first = await turn(held, value, { await_delivery: true });
    expect(first.body.key_transition_expires_at).toBeNull();
    server.clock.advance(365 * 86_400_000);
    expect([await statusWith(held.key), await statusWith(value)]).toEqual([200, 200]);
    expect((await rotate(held.id)).status).toBe(409);
    expect((await turn(held, makeApiKey(''))).status).toBe(409);
    const delivered = await turn(held, value, { key_transition_period_ms: 7_200_000 });
    expect(delivered.body.key_transition_expires_at).toBe(at(server.clock.now() + 7_200_000));
    const again = await turn(held, value, { await_delivery: true });
    expect(again.body).toEqual(delivered.body);
    server.clock.advance(7_200_000);
    expect([await statusWith(held.key), await statusWith(value)]).toEqual([401, 200]);
  });

  it('is rejected when any key has the value already, including this one in the past', async () => {
    const [held, other] = [await own(), await own()];
    expect((await turn(held, other.key)).status).toBe(409);
    const value = makeApiKey('');
    await turn(held, value);
    expect((await turn(held, held.key)).status).toBe(409);
    expect([await statusWith(held.key), await statusWith(other.key)]).toEqual([200, 200]);
  });

  it('is rejected without the lease of its owner, and writes nothing', async () => {
    const held = await own();
    const headers = { ...held.headers, 'gatewright-fence': '99' };
    const refused = await rotate(
      held.id,
      { key: makeApiKey(''), managed_by: held.managed_by },
      headers,
    );
    expect(refused).toMatchObject({ status: 409, body: { error: { param: 'gatewright-fence' } } });
    expect(await valuesOf(held.id)).toHaveLength(1);
    expect(await record(held.id)).not.toHaveProperty('rotated_at');
  });

  it('is visible in proofs: both values belong to the key, and the new one is current', async () => {
    const held = await own();
    const value = makeApiKey('');
    await turn(held, value, { await_delivery: true });
    const prove = async () => {
      const keys = [held.key, value].map((one) => ({ id: held.id, value: one }));
      const path = '/admin/v2/gatewright/key-proofs';
      const { body } = await server.request('POST', path, { body: { keys } });
      return body.data.map((proof: { matches: boolean; current: boolean }) => [
        proof.matches,
        proof.current,
      ]);
    };
    expect(await prove()).toEqual([
      [true, false],
      [true, true],
    ]);
    await turn(held, value);
    server.clock.advance(halfHourMs);
    expect(await prove()).toEqual([
      [false, false],
      [true, true],
    ]);
  });
});

function valuesOf(id: string) {
  return server.database.db
    .selectFrom('api_key_hashes')
    .selectAll()
    .where('api_key_id', '=', id)
    .execute();
}
