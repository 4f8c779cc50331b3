/** Guarantees about every route there is: what bodies do to it, and whom the registry lets in where. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAccessTokens } from '../../src/auth/access-token.ts';
import type { Principal } from '../../src/auth/principal.ts';
import type { MountedRoute } from '../../src/http/registry.ts';
import { serviceAccountPrincipal } from '../../src/model/access-policy.ts';
import { isKnownScope } from '../../src/model/scopes.ts';
import * as accessPolicies from '../../src/store/tables/access-policies.ts';
import * as serviceAccounts from '../../src/store/tables/service-accounts.ts';
import { everyRoute, pathOf } from '../every-route.ts';
import { startTestServer, type TestServer } from '../server.ts';

const mounted = everyRoute();
const cases = mounted.map((one) => [`${one.route.method} ${one.pattern}`, one] as const);

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
