/** Verifies authentication with API keys and tokens, and that no credential is ever logged. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey, maskApiKey } from '../../../src/model/people/credentials.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import * as apiKeys from '../../../src/store/resources/api-keys.ts';
import { exchange } from '../../support/network/exchange.ts';
import { apiKeyRow } from '../../support/rows/api-key-row.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const path = '/v1/admin/workspaces';

describe('authentication', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const call = (headers: Record<string, string>, at = path) =>
    exchange('GET', server.url + at, undefined, headers);
  const addKey = async (changes: Parameters<typeof apiKeyRow>[0]): Promise<string> => {
    const key = makeApiKey('');
    const now = server.clock.now();
    const row = {
      ...apiKeyRow({
        organisation_id: server.organisationId,
        key_mask: maskApiKey(key),
        scopes: '["workspaces.list"]',
        created_at: now,
        last_updated_at: now,
        ...changes,
      }),
      hash: server.app.keyring.hashCredential(key),
      pepper_id: server.app.keyring.pepperId,
    };
    await server.database.transaction((tx) => apiKeys.insert(tx, row));
    return key;
  };

  it('accepts an API key under both header names', async () => {
    const key = await addKey({});
    expect((await call({ 'x-gateway-api-key': key })).status).toBe(200);
    expect((await call({ 'x-portkey-api-key': key })).status).toBe(200);
    expect((await call({ 'x-gateway-api-key': key, 'x-portkey-api-key': key })).status).toBe(200);
  });

  it('returns 400 when a request has two different API keys', async () => {
    const headers = {
      'x-gateway-api-key': await addKey({}),
      'x-portkey-api-key': await addKey({}),
    };
    expect((await call(headers)).status).toBe(400);
  });

  it('grants a key its own scopes only', async () => {
    const headers = { 'x-gateway-api-key': await addKey({}) };
    expect((await call(headers)).status).toBe(200);
    const refused = await call(headers, `${path}/${randomUUID()}`);
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toContain('workspaces.read');
  });

  it('accepts a key up to the millisecond of its expiry', async () => {
    const key = await addKey({ expires_at: server.clock.now() + 1000 });
    server.clock.advance(999);
    expect((await call({ 'x-gateway-api-key': key })).status).toBe(200);
    server.clock.advance(1);
    expect((await call({ 'x-gateway-api-key': key })).status).toBe(401);
  });

  it('rejects an expired key', async () => {
    const key = await addKey({ status: 'expired' });
    expect((await call({ 'x-gateway-api-key': key })).status).toBe(401);
  });

  it.each(['', 'Bearer', 'Bearer ', 'Token x', 'x'])(
    'returns 401 for the authorization header %j',
    async (authorization) => {
      expect((await call({ authorization })).status).toBe(401);
    },
  );

  it('accepts the bearer scheme in any case, and rejects two spaces after it', async () => {
    const token = await server.token();
    expect((await call({ authorization: `bearer ${token}` })).status).toBe(200);
    expect((await call({ authorization: `Bearer  ${token}` })).status).toBe(401);
  });

  it('ignores the tenant named in a header and uses the tenant of the token', async () => {
    const token = await server.token();
    expect(
      (await call({ authorization: `Bearer ${token}`, 'x-tsg-id': '9999999999' })).status,
    ).toBe(200);
  });

  it('rejects the token of a service account two seconds after the account is deleted', async () => {
    const headers = { authorization: `Bearer ${await server.token()}` };
    const account = await serviceAccounts.findByClientId(server.database.db, server.clientId);
    await server.database.db.deleteFrom('service_accounts').where('id', '=', account!.id).execute();
    server.clock.advance(2000);
    expect((await call(headers)).status).toBe(401);
    await serviceAccounts.insert(server.database.db, account!);
    expect((await call(headers)).status).toBe(200);
  });

  it('rejects a token two seconds after the grant it was issued from is removed', async () => {
    const { database, tsgId, clock } = server;
    const headers = { authorization: `Bearer ${await server.token()}` };
    expect((await call(headers)).status).toBe(200);
    const [policy] = await accessPolicies.listByTsg(database.db, tsgId);
    await accessPolicies.deleteById(database.db, tsgId, policy!.id);
    clock.advance(2000);
    expect((await call(headers)).status).toBe(401);
    // A lesser role does not revive the token: a token never holds more than, or other than, what
    // it was issued with.
    await accessPolicies.insert(database.db, {
      ...policy!,
      id: randomUUID(),
      role: 'view_only_admin',
    });
    expect((await call(headers)).status).toBe(401);
    await accessPolicies.insert(database.db, policy!);
    clock.advance(2000);
    expect((await call(headers)).status).toBe(200);
  });

  it('writes no credential to any log line or error body', async () => {
    const token = await server.token();
    const key = await addKey({});
    const secrets = [token, key, server.clientSecret, server.organisationApiKey];
    const basic = Buffer.from(`${server.clientId}:${server.clientSecret}`).toString('base64');
    const bodies = [
      await call({ authorization: `Bearer ${token}`, 'x-gateway-api-key': key }),
      await call({ authorization: `Bearer ${key}` }),
      await call({ 'x-gateway-api-key': token }),
      await call({ authorization: `Basic ${basic}` }),
      await call({ authorization: `Bearer ${token}` }, `/v1/nothing?key=${key}`),
      await call({ authorization: `Bearer ${token}` }, `/v1/api-keys/${key}`),
      await exchange(
        'POST',
        `${server.url}/oauth2/access_token`,
        `grant_type=${key}&scope=${key}`,
        {
          authorization: `Basic ${basic}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
      ),
      await exchange(
        'POST',
        `${server.url}/iam/v1/access_policies`,
        { principal: key },
        {
          authorization: `Bearer ${token}`,
        },
      ),
    ].map((answer) => JSON.stringify(answer.body));
    const written = [...server.logLines, ...bodies].join('\n');
    for (const secret of [...secrets, basic]) expect(written).not.toContain(secret);
  });
});
