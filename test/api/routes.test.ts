/** Guarantees about every route there is: which credential opens it, generated from the registry itself. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAccessTokens } from '../../src/auth/access-token.ts';
import type { Principal } from '../../src/auth/principal.ts';
import type { MountedRoute } from '../../src/http/registry.ts';
import { serviceAccountPrincipal } from '../../src/model/access-policy.ts';
import { isKnownScope } from '../../src/model/scopes.ts';
import { bootstrapTenant } from '../../src/store/bootstrap.ts';
import * as accessPolicies from '../../src/store/tables/access-policies.ts';
import * as serviceAccounts from '../../src/store/tables/service-accounts.ts';
import { everyRoute, pathOf } from '../every-route.ts';
import { ownerOf } from '../people.ts';
import { exchange, fetchToken, startTestServer, type TestServer } from '../server.ts';
import { addSession, signedInSettings } from '../sessions.ts';

const mounted = everyRoute();
const isSignOut = ({ route, pattern }: MountedRoute<Principal>): boolean =>
  route.method === 'DELETE' && pattern === '/v1/session';
const cases = mounted.map((one) => [`${one.route.method} ${one.pattern}`, one] as const);

describe('every route', () => {
  let server: TestServer;
  let headers: Record<string, Record<string, string>>;

  beforeAll(async () => {
    server = await startTestServer({ settings: { signIn: signedInSettings } });
    const { keyring } = server.app;
    const other = await bootstrapTenant(server.database, {
      keyring,
      name: 'other',
      apiKeyPrefix: '',
      now: 0,
    });
    const otherToken = await fetchToken(server.url, {
      ...other,
      clientSecret: other.clientSecret.reveal(),
    });
    const tokens = createAccessTokens(server.app.keyring);
    const account = await serviceAccounts.findByClientId(server.database.db, server.clientId);
    const auditor = 'auditor:1234567890';
    const [policy] = await accessPolicies.listByTsg(server.database.db, server.tsgId);
    await accessPolicies.insert(server.database.db, {
      ...policy!,
      id: randomUUID(),
      role: auditor,
    });
    const grant = { serviceAccountId: account!.id, tsgId: server.tsgId, workspaceId: null };
    const now = server.clock.now();
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    headers = {
      none: {},
      garbage: bearer('garbage'),
      key: { 'x-gateway-api-key': server.organisationApiKey },
      olderKey: { 'x-portkey-api-key': server.organisationApiKey },
      keyAsBearer: bearer(server.organisationApiKey),
      token: bearer(await server.token()),
      otherTenant: bearer(otherToken),
      expired: bearer(await tokens.issue({ ...grant, roles: ['superuser'] }, now - 901_000)),
      unsigned: bearer(
        await createAccessTokens({ tokenSigningSeed: Buffer.alloc(32) }).issue(
          { ...grant, roles: ['superuser'] },
          now,
        ),
      ),
      roleless: bearer(await tokens.issue({ ...grant, roles: [auditor] }, now)),
      deletedAccount: bearer(
        await tokens.issue({ ...grant, serviceAccountId: randomUUID(), roles: ['superuser'] }, now),
      ),
      unknownTenant: bearer(
        await tokens.issue({ ...grant, tsgId: '0000000000', roles: ['superuser'] }, now),
      ),
      both: { ...bearer(await server.token()), 'x-gateway-api-key': server.organisationApiKey },
      session: (await addSession(server, await ownerOf(server))).headers,
      otherSession: (
        await addSession({ ...server, ...other }, await ownerOf({ ...server, ...other }))
      ).headers,
      wrongSession: { cookie: `__Host-gatewright-session=${randomUUID()}.${randomUUID()}.a` },
      wrongClient: { authorization: `Basic ${Buffer.from('nobody:nothing').toString('base64')}` },
    };
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const send = async (one: MountedRoute<Principal>, credential: string, path = pathOf(one)) => {
    const body = one.route.body === undefined ? undefined : {};
    return exchange(one.route.method, server.url + path, body, headers[credential]!);
  };

  it.each(cases)('%s is closed to whoever is not known', async (_, one) => {
    for (const credential of [
      'none',
      'garbage',
      ...(one.accepts.includes('bearer-key') ? [] : ['keyAsBearer']),
      'expired',
      'unsigned',
      'deletedAccount',
      'unknownTenant',
      'wrongClient',
      'wrongSession',
    ]) {
      const answer = await send(one, credential);
      expect([credential, answer.status]).toEqual([credential, 401]);
      expect(JSON.stringify(answer.body)).not.toContain(server.organisationApiKey);
    }
  });

  it.each(cases)('%s opens to the credentials it declares and to no other', async (_, one) => {
    for (const [credential, kind] of [
      ['key', 'api-key'],
      ['olderKey', 'api-key'],
      ['token', 'access-token'],
      ['keyAsBearer', 'bearer-key'],
      ...(isSignOut(one) ? [] : [['session', 'session'] as const]),
    ] as const) {
      const { status } = await send(one, credential);
      if (one.accepts.includes(kind)) expect([401, 403]).not.toContain(status);
      else expect([credential, status]).toEqual([credential, 401]);
      expect(status).toBeLessThan(500);
    }
  });

  it.each(cases)('%s refuses two credentials at once', async (_, one) => {
    expect((await send(one, 'both')).status).toBe(400);
  });

  it.each(cases.filter(([, one]) => one.route.scope !== undefined))(
    '%s is closed to a caller without its scope',
    async (_, one) => {
      const answer = await send(one, 'roleless');
      expect(answer.status).toBe(403);
      const { error, code, status } = answer.body;
      if (one.route.errors === 'scim') expect(status).toBe('403');
      else expect(error?.code ?? code).toBe('AB03');
    },
  );

  it.each(cases.filter(([, one]) => one.accepts.includes('access-token')))(
    '%s answers another tenant as it answers its own about nothing',
    async (_, one) => {
      const path = pathOf(one);
      const own = await send(one, 'token', path);
      const foreign = await send(one, 'otherTenant', path);
      expect(foreign.status).toBe(own.status);
      if (!one.accepts.includes('session')) return;
      const signedIn = await send(one, 'otherSession', path);
      expect(['session', signedIn.status]).toEqual(['session', own.status]);
    },
  );
});

describe('every route that takes a body', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const hostile = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(
      ...[
        null,
        -1,
        0,
        1e308,
        2 ** 53 + 1,
        0.1 + 0.2,
        '',
        ' ',
        '\u0000',
        '\u202e',
        '😀',
        'x'.repeat(300),
      ],
      ...[[], {}, [null], '2026-02-30T00:00:00Z', '0000-00-00', "' OR 1=1 --", '../..', 'e\u0301'],
      ...[randomUUID(), 'active', 'default', [{}], { a: { b: [] } }, true],
    ),
  );
  /** Documents whose keys are the schema's, so that rules behind the schema are met, too. */
  const bodies = (one: MountedRoute<Principal>): fc.Arbitrary<unknown> => {
    const json = z.toJSONSchema(one.route.body!, { io: 'input', unrepresentable: 'any' });
    const fields = Object.keys('properties' in json ? (json.properties ?? {}) : {});
    const record = fc.record(Object.fromEntries(fields.map((field) => [field, hostile])), {
      requiredKeys: [],
    });
    return fields.length === 0 ? hostile : fc.oneof({ weight: 4, arbitrary: record }, hostile);
  };

  it.each(cases.filter(([, one]) => one.route.body !== undefined && one.mount !== 'root'))(
    '%s answers hostile documents without a fault of its own',
    async (_, one) => {
      await fc.assert(
        fc.asyncProperty(bodies(one), async (body) => {
          const text = JSON.stringify(body);
          const { status } = await server.request(one.route.method, pathOf(one), {
            body: text,
            headers: { 'content-type': 'application/json' },
          });
          expect([text, status < 500]).toEqual([text, true]);
        }),
        { numRuns: 20 },
      );
    },
  );
});

describe('the registry', () => {
  it('asks for scopes that exist', () => {
    const fixed = mounted.flatMap(({ route }) =>
      typeof route.scope === 'string' ? [route.scope] : [],
    );
    expect(fixed.filter((scope) => !isKnownScope(scope))).toEqual([]);
  });

  it('takes API keys on v1, at the registry of MCP servers, and where clients with nothing but a key ask v2', () => {
    const leaky = mounted.filter(
      ({ mount, accepts }) => mount !== 'v1' && accepts.includes('api-key'),
    );
    const patterns = [...new Set(leaky.map(({ pattern }) => pattern))].sort();
    expect(patterns).toEqual([
      ...['/v0.1/servers', '/v2/admin/organisation/defaults', '/v2/deployments'],
      ...['/v2/deployments/:deploymentId', '/v2/deployments/:deploymentId/ping', '/v2/scim/groups'],
    ]);
    for (const { route, mount } of leaky.filter(({ mount }) => mount !== 'root')) {
      const onV1 = mounted.find(
        (one) => one.route === route && one.mount === 'v1' && one.accepts.includes('api-key'),
      );
      expect([mount, onV1?.pattern]).toEqual(['v2', expect.any(String)]);
    }
  });

  it('opens to people who are signed in all but what programs have among themselves', () => {
    const closed = mounted.filter(({ accepts }) => !accepts.includes('session'));
    const names = closed.map(({ route, pattern }) => `${route.method} ${pattern}`);
    // Provisioning, programs that look for MCP servers, and what sync writes, proves and compares.
    const programs = /^\w+ \/(?:v1\/scim\/v2|v0\.1|oauth2)\//;
    expect(names.filter((name) => !programs.test(name)).toSorted()).toEqual([
      'DELETE /admin/v2/gatewright/leases/:owner',
      'DELETE /admin/v2/gatewright/sync/suspensions',
      'GET /admin/v2/gatewright/snapshot',
      'POST /admin/v2/gatewright/changes',
      'POST /admin/v2/gatewright/key-proofs',
      'POST /admin/v2/gatewright/sync/key-uses',
      'POST /admin/v2/gatewright/sync/releases',
      'POST /admin/v2/gatewright/sync/revisions',
      'PUT /admin/v2/gatewright/leases/:owner',
      'PUT /admin/v2/gatewright/sync/revisions/:number/changes',
      'PUT /admin/v2/gatewright/sync/status',
      'PUT /admin/v2/gatewright/sync/suspensions',
    ]);
  });

  it('has the endpoints that the interface names', () => {
    const names = new Set(cases.map(([name]) => name.replaceAll(/:\w+/g, ':')));
    const wanted = [
      'POST /v1/api-keys/:/:',
      'PUT /v2/guardrails/:',
      'GET /admin/v2/guardrails/:',
      'PUT /admin/v2/guardrails/:/mcp-servers',
      'GET /admin/v2/guardrails/:/mcp-servers',
      'PUT /v2/configs/:',
      'PUT /admin/v2/mcp-integrations/:',
      'PUT /v2/mcp-servers/:',
      'GET /v2/policies/usage-limits/:/entities',
      'POST /oauth2/access_token',
      'POST /iam/v1/access_policies',
      'GET /iam/v1/access_policies',
      'DELETE /iam/v1/access_policies/:',
    ];
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('a caller with a role on one workspace', () => {
  it('cannot use access policies to widen its own reach', async () => {
    await using server = await startTestServer();
    const account = await serviceAccounts.findByClientId(server.database.db, server.clientId);
    const grant = {
      serviceAccountId: account!.id,
      tsgId: server.tsgId,
      roles: ['superuser'],
      workspaceId: await addWorkspace(server),
    };
    const token = await createAccessTokens(server.app.keyring).issue(grant, server.clock.now());
    const principal = serviceAccountPrincipal('test', server.tsgId);
    await accessPolicies.insert(server.database.db, {
      id: randomUUID(),
      tsg_id: server.tsgId,
      principal,
      resource: `prn:${server.tsgId}::::${grant.workspaceId}`,
      role: 'superuser',
      created_at: server.clock.now(),
    });
    const answer = await server.request('POST', '/iam/v1/access_policies', {
      auth: 'none',
      headers: { authorization: `Bearer ${token}` },
      body: { principal, resource: `prn:${server.tsgId}::::`, role: 'view_only_admin' },
    });
    expect(answer.status).toBe(403);
    const held = await accessPolicies.listByPrincipal(server.database.db, principal);
    expect(held.map((policy) => policy.role)).toEqual(['superuser', 'superuser']);
  });
});

async function addWorkspace(server: TestServer): Promise<string> {
  const made = await server.request('POST', '/admin/v2/workspaces', { body: { name: 'one' } });
  return made.body.id;
}
