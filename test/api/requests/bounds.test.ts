/**
 * Verifies that every text field accepts its maximum length in the widest characters, and rejects
 * one character more.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { createLeases } from '../../support/sync/lease.ts';

/** One character that takes four bytes in the database. */
const wide = '𝔤';

interface FieldBound {
  /** A field of the body, or a header with the prefix `header:`. */
  readonly field: string;
  readonly charactersMax: number;
  /** The repeated character; {@link wide} by default. */
  readonly character?: string;
  /** Text before and after the characters, which fill up to the maximum. */
  readonly around?: readonly [before: string, after: string];
}

interface Resource {
  readonly path: string;
  readonly method?: 'PUT';
  /** A valid body; different on each call when something in it must be unique. */
  readonly body: () => Record<string, unknown>;
  readonly bounds: readonly FieldBound[];
}

let server: TestServer;
const leases = createLeases();
let workspaceId: string;
let integrationId: string;
let configId: string;

beforeAll(async () => {
  server = await startTestServer();
  const make = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body.id as string;
  workspaceId = await make('/admin/v2/workspaces', { name: 'one' });
  integrationId = await make('/admin/v2/mcp-integrations', integration());
  configId = await make('/v2/configs', { name: 'one', config: {} });
});
afterAll(() => server[Symbol.asyncDispose]());

const name = { field: 'name', charactersMax: 255 };
const slug = { field: 'slug', charactersMax: 255, character: 'a' };
const integration = () => ({
  name: 'crm',
  url: 'https://crm.example.com/mcp',
  auth_type: 'none',
  transport: 'http',
});
const managedBy = (): Record<string, unknown> => ({
  owner: 'platform',
  workspace: null,
  name: `n${randomUUID()}`,
  last_applied: {},
  source: { repo: 'git', revision: null },
});
const claimed = (field: string): FieldBound => ({
  field: `managed_by.${field}`,
  charactersMax: 253,
  character: 'a',
});

const resources: Readonly<Record<string, Resource>> = {
  workspaces: {
    path: '/admin/v2/workspaces',
    body: () => ({ name: 'one', managed_by: managedBy() }),
    bounds: [
      name,
      { field: 'description', charactersMax: 4096 },
      { field: 'icon', charactersMax: 64 },
      { field: 'scope_name', charactersMax: 255 },
      ...['owner', 'workspace', 'name'].map(claimed),
      { field: 'managed_by.source.repo', charactersMax: 2048 },
      { field: 'managed_by.source.revision', charactersMax: 255 },
      { field: 'managed_by.source.file', charactersMax: 2048 },
      { field: 'header:x-request-id', charactersMax: 128, character: 'a' },
    ],
  },
  configs: {
    path: '/v2/configs',
    body: () => ({ name: 'one', config: {} }),
    bounds: [name],
  },
  guardrails: {
    path: '/v2/guardrails',
    body: () => ({ name: 'one', checks: [{ id: 'default.wordCount' }], actions: {} }),
    bounds: [name],
  },
  'API keys': {
    path: '/v1/api-keys/organisation/service',
    body: () => ({ name: 'one', scopes: ['logs.view'], defaults: { config_id: configId } }),
    bounds: [
      { ...name, charactersMax: 100 },
      { field: 'description', charactersMax: 4096 },
    ],
  },
  'MCP integrations': {
    path: '/admin/v2/mcp-integrations',
    body: integration,
    bounds: [
      name,
      slug,
      { field: 'description', charactersMax: 5000 },
      {
        field: 'url',
        charactersMax: 2048,
        character: 'a',
        around: ['https://crm.example.com/', ''],
      },
    ],
  },
  'MCP servers': {
    path: '/v2/mcp-servers',
    body: () => ({ name: 'one', mcp_integration_id: integrationId, workspace_id: workspaceId }),
    bounds: [
      name,
      { field: 'description', charactersMax: 500 },
      { field: 'slug', charactersMax: 50, character: 'a' },
    ],
  },
  'MCP capabilities': {
    path: '/admin/v2/mcp-integrations/{integration}/capabilities',
    method: 'PUT',
    body: () => ({ capabilities: [{ name: 'search', type: 'tool', enabled: true }] }),
    bounds: [{ field: 'capabilities.0.name', charactersMax: 255 }],
  },
  'usage-limit policies': {
    path: '/v2/policies/usage-limits',
    body: () => ({
      workspace_id: workspaceId,
      type: 'cost',
      credit_limit: 1,
      conditions: [{ key: 'api_key', value: randomUUID() }],
      group_by: [{ key: 'api_key' }],
    }),
    bounds: [name, { field: 'description', charactersMax: 500 }],
  },
  'rate-limit policies': {
    path: '/v2/policies/rate-limits',
    body: () => ({
      workspace_id: workspaceId,
      type: 'requests',
      unit: 'rps',
      value: 1,
      conditions: [{ key: 'api_key', value: randomUUID() }],
      group_by: [{ key: 'api_key' }],
    }),
    bounds: [name, { field: 'description', charactersMax: 500 }],
  },
  'access policies': {
    path: '/iam/v1/access_policies',
    body: () => ({
      principal: `a${randomUUID()}@example.com`,
      resource: `prn:${server.tsgId}::::`,
      role: 'view_only_admin',
    }),
    bounds: [
      {
        field: 'principal',
        charactersMax: 320,
        character: 'a',
        around: ['', `@${'b.'.repeat(100)}example.com`],
      },
      { field: 'role', charactersMax: 128, character: 'a' },
      {
        field: 'resource',
        charactersMax: 208,
        character: 'w',
        around: ['prn:{tsg}::::', ''],
      },
    ],
  },
};

function textFor(
  { charactersMax, character = wide, around = ['', ''] }: FieldBound,
  beyond: number,
) {
  const [before, after] = around.map((text) => text.replace('{tsg}', server.tsgId));
  const fill = charactersMax - [...before!, ...after!].length + beyond;
  return `${before}${character.repeat(fill)}${after}`;
}

async function send(resource: Resource, bound: FieldBound, beyond: number): Promise<TestResponse> {
  const value = textFor(bound, beyond);
  const body = structuredClone(resource.body());
  const [kind, header] = bound.field.split(':');
  const reported = header === undefined ? {} : { [header]: value };
  if (header === undefined) set(body, kind!.split('.'), value);
  const { owner } = (body.managed_by ?? {}) as { owner?: string };
  // A name that is too long can have no lease.
  const isNamed = owner !== undefined && owner.length <= 253;
  const fence = isNamed ? await leases(server.request, owner) : {};
  const headers = { ...reported, ...fence };
  const path = resource.path.replace('{integration}', integrationId);
  return server.request(resource.method ?? 'POST', path, { body, headers });
}

function set(target: Record<string, unknown>, [key, ...rest]: string[], value: string): void {
  if (rest.length === 0) target[key!] = value;
  else set(target[key!] as Record<string, unknown>, rest, value);
}

const cases = Object.entries(resources).flatMap(([title, resource]) =>
  resource.bounds.map((bound) => [`${bound.field} of ${title}`, resource, bound] as const),
);

describe.each(cases)('%s', (_, resource, bound) => {
  it('accepts the maximum length', async () => {
    const { status, body } = await send(resource, bound, 0);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
  });

  it('rejects one character more with 400, before the database does', async () => {
    const { status } = await send(resource, bound, 1);
    // A longer request id is replaced, so it does no harm.
    expect(status).toBe(bound.field.startsWith('header:') ? 200 : 400);
  });
});
