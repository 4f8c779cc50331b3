/** Guarantees of the switches: each turns off the routes it governs and no others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminRoutes } from '../../src/admin/index.ts';
import { createAccessTokens } from '../../src/auth/access-token.ts';
import { createFailureThrottle } from '../../src/auth/failure-throttle.ts';
import { readSettings } from '../../src/settings.ts';
import { KeptBlobs } from '../../src/store/kept-blobs.ts';
import { auditTrail } from '../../src/store/tables/audit-log.ts';
import { startTestServer, type TestServer } from '../server.ts';

const governed = {
  '/admin/v2/api-keys': 'API_ACCESS_ENABLED',
  '/admin/v2/guardrails': 'GUARDRAILS_ENABLED',
  '/v1/guardrails': 'GUARDRAILS_ENABLED',
  '/admin/v2/mcp-integrations': 'MCP_ENABLED',
  '/admin/v2/mcp-servers': 'MCP_ENABLED',
  '/v2/mcp-servers': 'MCP_ENABLED',
  '/admin/v2/policies/usage-limits': 'POLICY_ENABLED',
  '/v1/policies/rate-limits': 'POLICY_ENABLED',
  '/v2/policies/usage-limits': 'USAGE_LIMITS_ENABLED',
  '/v1/scim/groups': 'SCIM_ENABLED',
  '/v2/audit-logs': 'AUDIT_LOGS_ENABLED',
  '/v2/logs/exports': 'DATA_EXPORTS_ENABLED',
} as const;
const always = ['/admin/v2/configs', '/admin/v2/workspaces', '/iam/v1/access_policies'];

/** One server a switch, by the switch that is off there. */
const servers = new Map<string, TestServer>();
beforeAll(async () => {
  for (const name of new Set(Object.values(governed))) {
    const { features } = readSettings({ [name]: 'OFF' }, { cwd: '/nonexistent' });
    servers.set(name, await startTestServer({ settings: { features } }));
  }
});
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
});

describe('a switch that is off', () => {
  it.each(Object.entries(governed))('closes %s: %s', async (path, name) => {
    const { status, body } = await servers.get(name)!.request('GET', path);
    expect([status, body.error.message]).toEqual([
      403,
      'This feature is switched off on this deployment',
    ]);
  });

  it('leaves every other route open', async () => {
    for (const [name, server] of servers) {
      const others = Object.entries(governed).filter(([, one]) => one !== name);
      // Usage-limit policies are policies: either switch closes them.
      const open = others.filter(
        ([path]) => !(path.includes('usage-limits') && isOfPolicies(name)),
      );
      for (const path of [...always, ...open.map(([path]) => path)]) {
        const { status } = await server.request('GET', path);
        expect([name, path, status]).toEqual([name, path, 200]);
      }
    }
  });

  it('leaves the keys that exist working', async () => {
    const server = servers.get('API_ACCESS_ENABLED')!;
    expect((await server.request('GET', '/v1/configs', { auth: 'key' })).status).toBe(200);
  });
});

function isOfPolicies(name: string): boolean {
  return name === 'POLICY_ENABLED' || name === 'USAGE_LIMITS_ENABLED';
}

describe('every route of a governed family', () => {
  it('names its switches', () => {
    const server = servers.get('MCP_ENABLED')!;
    const routes = adminRoutes(
      {
        ...{ database: server.database, keyring: server.app.keyring, audit: auditTrail(true) },
        blobs: new KeptBlobs({
          ...{ database: server.database, now: () => 0, places: {} },
          writesTo: 'database',
        }),
        ...{ throttle: createFailureThrottle(), signIn: null },
        ...{ apiKeyPrefix: '', trustedHosts: [], configTargets: server.settings.configTargets },
        mcp: { explore: () => Promise.reject(new Error('nothing is asked')) },
        outbound: { request: () => Promise.reject(new Error('nothing is asked')) },
      },
      createAccessTokens(server.app.keyring),
    );
    const families = [
      [/^\/scim\//, ['scim']],
      [/^\/(guardrails|admin\/organisation\/defaults|workspace-exclusions)/, ['guardrails']],
      [/^\/(?:mcp|v0\.1)/, ['mcp']],
      [/^\/audit-logs/, ['auditLogs']],
      [/^\/logs\/exports/, ['dataExports']],
      [/^\/api-keys/, ['apiAccess']],
      [/^\/policies\/usage-limits/, ['policy', 'usageLimits']],
      [/^\/policies\/rate-limits/, ['policy']],
    ] as const;
    for (const { path, features } of routes) {
      const own = families.find(([pattern]) => pattern.test(path))?.[1];
      expect([path, features]).toEqual([path, own]);
    }
  });
});
