/**
 * Verifies the token service: who gets a token for which tenant, and how all others are rejected.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  formatResource,
  serviceAccountPrincipal,
} from '../../../src/model/people/access-policy.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import * as organisations from '../../../src/store/resources/organisations.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { seed } from '../../support/run/test-effort.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const secret = 'a:secret:with:colons';

describe('the token service', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const basic = (clientId: string, clientSecret: string) =>
    `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const post = (body: string, headers: Record<string, string>) =>
    exchange('POST', `${server.url}/oauth2/access_token`, body, { ...form, ...headers });
  const ask = (client: { clientId: string; clientSecret: string }, tsgId: string) =>
    post(`grant_type=client_credentials&scope=tsg_id%3A${tsgId}`, {
      authorization: basic(client.clientId, client.clientSecret),
    });

  let nextTsg = 2_000_000_000;
  const addOrganisation = async (parent: string | null): Promise<string> => {
    nextTsg += 1;
    const tsgId = String(nextTsg);
    await organisations.insert(server.database.db, {
      id: randomUUID(),
      tsg_id: tsgId,
      parent_tsg_id: parent,
      name: tsgId,
      api_key_max_ttl_days: null,
      created_at: 0,
    });
    return tsgId;
  };
  const addAccount = async (
    tsgId: string,
    grants: { tsgId: string; workspace?: string; role?: string }[],
  ) => {
    const name = `sa-${randomUUID().slice(0, 8)}`;
    const clientId = serviceAccountPrincipal(name, tsgId);
    await serviceAccounts.insert(server.database.db, {
      id: randomUUID(),
      tsg_id: tsgId,
      name,
      client_id: clientId,
      secret_hmac: server.app.keyring.hashCredential(secret),
      pepper_id: server.app.keyring.pepperId,
      created_at: 0,
    });
    for (const grant of grants) {
      await accessPolicies.insert(server.database.db, {
        id: randomUUID(),
        tsg_id: grant.tsgId,
        principal: clientId,
        resource: formatResource(grant.tsgId, grant.workspace ?? null),
        role: grant.role ?? 'superuser',
        created_at: 0,
      });
    }
    return { clientId, clientSecret: secret };
  };
  const claimsOf = (answer: TestResponse) =>
    JSON.parse(Buffer.from(answer.body.access_token.split('.')[1], 'base64url').toString());

  it('returns exactly the fields that clients read, with caching disabled', async () => {
    const answer = await ask(server, server.tsgId);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers.pragma).toBe('no-cache');
    expect(claimsOf(answer)).toMatchObject({ tsg_id: server.tsgId, access: ['superuser'] });
  });

  it('issues tokens that expire after 900 seconds', async () => {
    const headers = { authorization: `Bearer ${await server.token()}` };
    const list = () => server.request('GET', '/iam/v1/access_policies', { auth: 'none', headers });
    server.clock.advance(899_000);
    expect((await list()).status).toBe(200);
    server.clock.advance(2_000);
    expect((await list()).status).toBe(401);
  });

  it('accepts clients that encode both parts as in RFC 6749, and rejects a half-encoded secret', async () => {
    const tsgId = await addOrganisation(null);
    const { clientId, clientSecret } = await addAccount(tsgId, [{ tsgId }]);
    const encoded = encodeURIComponent(clientId);
    expect(encoded).toContain('%40');
    const secrets = { [encodeURIComponent(clientSecret)]: 200, [`${clientSecret}%`]: 401 };
    for (const [sent, status] of Object.entries(secrets)) {
      const answer = await ask({ clientId: encoded, clientSecret: sent }, tsgId);
      expect([sent, answer.status]).toEqual([sent, status]);
    }
  });

  it('accepts secrets that contain colons', async () => {
    const tsgId = await addOrganisation(null);
    expect((await ask(await addAccount(tsgId, [{ tsgId }]), tsgId)).status).toBe(200);
  });

  it('returns the same error for an unknown client and for a wrong secret', async () => {
    const wrong = await ask({ ...server, clientSecret: 'wrong' }, server.tsgId);
    const unknown = await ask({ clientId: 'nobody', clientSecret: 'wrong' }, server.tsgId);
    const body = { error: 'invalid_client', error_description: 'Unauthorized access' };
    for (const answer of [wrong, unknown]) {
      expect([answer.status, answer.body]).toEqual([401, body]);
      expect(answer.headers['www-authenticate']).toBe('Basic realm="gatewright"');
    }
  });

  it.each([
    ['no credentials', {}],
    ['an empty header', { authorization: '' }],
    ['a scheme alone', { authorization: 'Basic' }],
    ['two spaces', { authorization: 'Basic  YTpi' }],
    ['no colon', { authorization: `Basic ${Buffer.from('abc').toString('base64')}` }],
    [
      'bytes that are not UTF-8',
      { authorization: `Basic ${Buffer.from([0xff, 0x3a, 0xfe]).toString('base64')}` },
    ],
    ['a client id with a NUL', { authorization: basic('a\0b', 'c') }],
    ['an API key', { 'x-gateway-api-key': 'x' }],
  ] as [string, Record<string, string>][])('returns 401 for %s', async (_, headers) => {
    const answer = await post(
      `grant_type=client_credentials&scope=tsg_id:${server.tsgId}`,
      headers,
    );
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
  });

  it.each([
    ['another grant type', 'grant_type=password&scope=tsg_id:1234567890', 'unsupported_grant_type'],
    ['no grant type', 'scope=tsg_id:1234567890', 'invalid_request'],
    ['no scope', 'grant_type=client_credentials', 'invalid_request'],
    [
      'two scopes',
      'grant_type=client_credentials&scope=tsg_id:1234567890&scope=tsg_id:1234567891',
      'invalid_request',
    ],
    [
      'two grant types',
      'grant_type=client_credentials&grant_type=x&scope=tsg_id:1234567890',
      'invalid_request',
    ],
    ['a short TSG', 'grant_type=client_credentials&scope=tsg_id:123', 'invalid_scope'],
    ['a TSG in words', 'grant_type=client_credentials&scope=everything', 'invalid_scope'],
    [
      'a TSG that does not exist',
      'grant_type=client_credentials&scope=tsg_id:0000000001',
      'invalid_scope',
    ],
    ['an empty body', '', 'invalid_request'],
  ])('returns 400 in OAuth form for %s', async (_, body, error) => {
    const answer = await post(body, { authorization: basic(server.clientId, server.clientSecret) });
    expect([answer.status, answer.body.error]).toEqual([400, error]);
    expect(answer.body.error_description).toEqual(expect.any(String));
  });

  it('rejects a service account without a role assignment', async () => {
    const tsgId = await addOrganisation(null);
    const answer = await ask(await addAccount(tsgId, []), tsgId);
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
  });

  it('issues tokens for descendants in the TSG tree, and not for ancestors or siblings', async () => {
    const root = await addOrganisation(null);
    const [left, right] = [await addOrganisation(root), await addOrganisation(root)];
    const leaf = await addOrganisation(left);
    const account = await addAccount(left, [{ tsgId: left }]);
    expect((await ask(account, left)).status).toBe(200);
    expect(claimsOf(await ask(account, leaf)).tsg_id).toBe(leaf);
    for (const elsewhere of [root, right]) {
      const answer = await ask(account, elsewhere);
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
    }
  });

  it('issues a token outside the subtree when an access policy there grants it', async () => {
    const [home, away] = [await addOrganisation(null), await addOrganisation(null)];
    const account = await addAccount(home, [{ tsgId: away, role: 'view_only_admin' }]);
    expect(claimsOf(await ask(account, away)).access).toEqual(['view_only_admin']);
    expect((await ask(account, home)).body.error).toBe('unauthorized_client');
  });

  it('issues a token in a random tree exactly when a policy exists on the path to the root', async () => {
    const tree = fc.array(fc.nat(), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        tree,
        fc.nat(),
        fc.nat(),
        fc.nat(),
        async (parents, home, granted, target) => {
          const nodes: { tsgId: string; parent: number | null }[] = [];
          for (const pick of parents) {
            const parent = nodes.length === 0 || pick % 4 === 0 ? null : pick % nodes.length;
            const tsgId = await addOrganisation(parent === null ? null : nodes[parent]!.tsgId);
            nodes.push({ tsgId, parent });
          }
          const at = (pick: number) => pick % nodes.length;
          const account = await addAccount(nodes[at(home)]!.tsgId, [
            { tsgId: nodes[at(granted)]!.tsgId },
          ]);
          const answer = await ask(account, nodes[at(target)]!.tsgId);
          let reaches = false;
          for (let node: number | null = at(target); node !== null; node = nodes[node]!.parent) {
            if (node === at(granted)) reaches = true;
          }
          expect(answer.status).toBe(reaches ? 200 : 400);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('binds a token to the one workspace that its roles are limited to', async () => {
    const create = (name: string) =>
      server.request('POST', '/v1/admin/workspaces', { body: { name } });
    const [one, two] = [(await create('one')).body, (await create('two')).body];
    const { tsgId } = server;
    const bound = await addAccount(tsgId, [
      { tsgId, workspace: one.slug },
      { tsgId, workspace: one.id, role: 'view_only_admin' },
      { tsgId, workspace: 'gone' },
    ]);
    expect(claimsOf(await ask(bound, tsgId))).toMatchObject({
      workspace_id: one.id,
      access: expect.arrayContaining(['superuser', 'view_only_admin']),
    });
    const torn = await addAccount(tsgId, [
      { tsgId, workspace: one.id },
      { tsgId, workspace: two.id },
    ]);
    expect((await ask(torn, tsgId)).body.error).toBe('invalid_scope');
    const lost = await addAccount(tsgId, [{ tsgId, workspace: 'gone' }]);
    expect((await ask(lost, tsgId)).body.error).toBe('unauthorized_client');
  });

  it('accepts form fields in any order with unknown fields, and rejects any other body', async () => {
    const scope = `tsg_id:${server.tsgId}`;
    const text = fc.oneof(
      fc.constantFrom(
        'client_credentials',
        scope,
        `${scope} ${scope}`,
        `${scope}\n`,
        'CLIENT_CREDENTIALS',
      ),
      fc.constantFrom('%', '%zz', '%00', '%ff%fe', '+', '[object Object]', '9'.repeat(2_000)),
      fc.string({ unit: 'binary' }),
    );
    const encoded = text.map((sent) =>
      sent.startsWith('%') ? sent : encodeURIComponent(sent.toWellFormed()),
    );
    const name = fc.constantFrom(
      'grant_type',
      'scope',
      'scope[]',
      'client_id',
      '__proto__',
      'constructor',
      '',
    );
    const right = ['grant_type=client_credentials', `scope=${encodeURIComponent(scope)}`];
    const drawn = fc.tuple(name, encoded).map(([key, value]) => `${key}=${value}`);
    const authorization = basic(server.clientId, server.clientSecret);
    const answersWell = async (fields: readonly string[]) => {
      const answer = await post(fields.join('&'), { authorization });
      const form = new URLSearchParams(fields.join('&'));
      const isRight =
        form.getAll('grant_type').join() === 'client_credentials' &&
        form.getAll('scope').join() === scope;
      expect([fields, answer.status]).toEqual([fields, isRight ? 200 : 400]);
      if (isRight) return;
      const { error, error_description } = answer.body;
      expect(Object.keys(answer.body)).toEqual(['error', 'error_description']);
      expect(['invalid_request', 'invalid_scope', 'unsupported_grant_type']).toContain(error);
      // RFC 6749, 5.2: printable ASCII without quotes.
      expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,500}$/);
    };
    const fields = fc
      .tuple(fc.subarray(right), fc.array(drawn, { maxLength: 3 }))
      .map(([some, others]) => [...some, ...others])
      .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }));
    await fc.assert(fc.asyncProperty(fields, answersWell), { numRuns: 30, seed });
  });

  it('delays a client that keeps failing, and never one with the right secret', async () => {
    const attempts = await Promise.all(
      Array.from({ length: 30 }, () => ask({ ...server, clientSecret: 'guess' }, server.tsgId)),
    );
    const statuses = attempts.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(statuses.every((status) => status === 401 || status === 429)).toBe(true);
    expect((await ask(server, server.tsgId)).status).toBe(200);
    server.clock.advance(60_000);
    expect((await ask({ ...server, clientSecret: 'guess' }, server.tsgId)).status).toBe(401);
  });

  it('returns 415 for any other content type than a form', async () => {
    const answer = await exchange(
      'POST',
      `${server.url}/oauth2/access_token`,
      { grant_type: 'client_credentials' },
      {
        authorization: basic(server.clientId, server.clientSecret),
      },
    );
    expect([answer.status, answer.body.error]).toEqual([415, 'invalid_request']);
  });
});
