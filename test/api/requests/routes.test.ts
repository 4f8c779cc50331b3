/**
 * Verifies the route registry: scopes, authentication, and that all routes of the interface exist.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import type { MountedRoute } from '../../../src/http/routes/registry.ts';
import { serviceAccountPrincipal } from '../../../src/model/people/access-policy.ts';
import { isKnownScope } from '../../../src/model/people/scopes.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import { everyRoute } from '../../support/interface/every-route.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const mounted = everyRoute();
const cases = mounted.map((one) => [`${one.route.method} ${one.pattern}`, one] as const);

describe('the route registry', () => {
  it('requires only scopes that exist', () => {
    const fixed = mounted.flatMap(({ route }) =>
      typeof route.scope === 'string' ? [route.scope] : [],
    );
    expect(fixed.filter((scope) => !isKnownScope(scope))).toEqual([]);
  });

  it('names each scope by the resource and the operation, on every plane', () => {
    const [service, user] = ['service', 'user'].map((subType) =>
      ['organisation', 'workspace'].map((type) => `${type}_${subType}_api_keys`),
    ) as [string[], string[]];
    /** By the longest prefix of the path; the rest is an item, and a part of it. */
    const resources: Readonly<Record<string, readonly string[]>> = {
      configs: ['configs'],
      providers: ['providers'],
      deployments: ['deployments'],
      'prompts/partials': ['prompts'],
      prompts: ['prompts'],
      collections: ['prompts'],
      labels: ['prompts'],
      'virtual-keys': ['virtual_keys'],
      'policies/usage-limits': ['policies'],
      'policies/rate-limits': ['policies'],
      'mcp-servers': ['mcp_servers'],
      'secret-references': ['secret_references'],
      'service-accounts': ['service_accounts'],
      tsgs: ['tsgs'],
      guardrails: ['organisation_guardrails', 'guardrails'],
      integrations: ['organisation_integrations', 'workspace_integrations'],
      'mcp-integrations': ['organisation_mcp_integrations', 'workspace_mcp_integrations'],
      'admin/workspaces/:id/users': ['workspace_users'],
      'admin/workspaces': ['workspaces'],
      workspaces: ['workspaces'],
      'admin/users/invites': ['organisation_users'],
      'admin/users': ['organisation_users'],
      'api-keys/service': service,
      'api-keys/user': user,
      'api-keys': [...service, ...user],
    };
    const deeds: Readonly<Record<string, string>> = {
      makeDefault: 'publish',
      render: 'render',
      rotate: 'rotate',
      test: 'read',
      resend: 'create',
      ':subType': 'create',
    };
    const actionOf = (method: string, rest: readonly string[]): string => {
      const deed = deeds[rest.at(-1) ?? ''];
      if (deed !== undefined) return deed;
      if (rest.length > 1) return method === 'GET' ? 'read' : 'update';
      const names = rest.length === 0 ? ['list', 'create'] : ['read', 'update', 'delete'];
      return names[
        (rest.length === 0 ? ['GET', 'POST'] : ['GET', 'PUT', 'DELETE']).indexOf(method)
      ]!;
    };
    /** Any other route has one scope for reading and one for changing. */
    const others: Readonly<Record<string, readonly [looking: string, changing: string]>> = {
      'admin/organisation/defaults': ['organisation_settings.read', 'organisation_settings.update'],
      organisations: ['organisation_settings.read', 'organisation_settings.update'],
      plugins: ['organisation_settings.read', ''],
      'workspace-exclusions': ['organisation_exclusions.list', 'organisation_exclusions.update'],
      'guardrail-exclusions': ['organisation_exclusions.list', 'organisation_exclusions.update'],
      'scim/': ['organisation_users.update', 'organisation_users.update'],
      'logs/exports': ['logs.export', 'logs.export'],
      'audit-logs': ['audit_logs.list', ''],
      'logs/groups': ['analytics.view', ''],
      'logs/charts': ['analytics.view', ''],
      'logs/:logId': ['logs.view', ''],
      logs: ['logs.list', 'logs.write'],
      analytics: ['analytics.view', ''],
    };
    /** Routes of this project only, or about the caller. */
    const own =
      /^(?:gatewright|sign-in|session|utils|feedback|model-configs)\b|^logs\/exports\/:exportId\/file$/;
    const wanted = ({ route: { method, scope }, pattern }: MountedRoute<Principal>) => {
      const path = pattern.replace(/^\/(?:admin\/v2|v1|v2)\//, '');
      if (own.test(path)) return [];
      const requested =
        typeof scope === 'function' ? scope({ type: 'workspace', subType: 'user' }) : scope;
      // Users of MCP servers manage their own tokens.
      const scopes = [requested ?? []].flat().filter((one) => one !== 'mcp.invoke');
      const start = Object.keys(resources).find((one) => `${path}/`.startsWith(`${one}/`));
      const rest = path
        .slice((start ?? '').length)
        .split('/')
        .filter((part) => part !== '');
      const other = Object.keys(others).find((one) => path.startsWith(one));
      const action = actionOf(method, rest);
      const right =
        start === undefined
          ? [others[other ?? '']?.[method === 'GET' ? 0 : 1] ?? 'no rule']
          : resources[start]!.map((word) => `${word}.${action}`);
      // Where the path contains the type, it selects the scope.
      const isOne = right.length > 1 && typeof requested === 'string' && right.includes(requested);
      return [
        [`${method} ${path}`, scopes.toSorted(), (isOne ? [requested] : right).toSorted()] as const,
      ];
    };
    const rows = mounted.filter(({ mount }) => mount !== 'root').flatMap(wanted);
    expect(rows.length).toBeGreaterThan(400);
    expect(rows.filter(([, requested, right]) => requested.join() !== right.join())).toEqual([]);
  });

  it('accepts API keys on v1 and at the registry of MCP servers, and on no route of v2 and admin', () => {
    const byKey = mounted.filter(({ mount, accepts }) => {
      const isByKey = accepts.includes('api-key') || accepts.includes('bearer-key');
      return mount !== 'v1' && isByKey;
    });
    expect([...new Set(byKey.map(({ pattern }) => pattern))]).toEqual(['/v0.1/servers']);
  });

  it('opens to signed-in users every route except those between programs', () => {
    const closed = mounted.filter(({ accepts }) => !accepts.includes('session'));
    const names = closed.map(({ route, pattern }) => `${route.method} ${pattern}`);
    // Provisioning, programs that discover MCP servers, and what sync writes, verifies and
    // compares.
    const programs = /^\w+ \/(?:v1\/scim\/v2|v0\.1|oauth2)\//;
    expect(names.filter((name) => !programs.test(name)).toSorted()).toEqual([
      'DELETE /admin/v2/gatewright/leases/:owner',
      'GET /admin/v2/gatewright/snapshot',
      'POST /admin/v2/gatewright/changes',
      'POST /admin/v2/gatewright/key-proofs',
      'POST /admin/v2/gatewright/sync/releases',
      'POST /admin/v2/gatewright/sync/revisions',
      'PUT /admin/v2/gatewright/leases/:owner',
      'PUT /admin/v2/gatewright/sync/revisions/:number/changes',
      'PUT /admin/v2/gatewright/sync/sources',
      'PUT /admin/v2/gatewright/sync/status',
    ]);
  });

  it('contains the endpoints of the interface', () => {
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
  it('cannot use access policies to widen its own access', async () => {
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
