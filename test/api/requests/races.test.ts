/** Verifies that decisions about several rows hold under concurrency. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/model/wire/ids.ts';
import { checkConsistency } from '../../../src/store/consistency.ts';
import type { CounterRef } from '../../../src/store/usage/counter-place.ts';
import type { SliceMove } from '../../../src/store/usage/slice-moves.ts';
import { exchange } from '../../../src/store/usage/usage-slices.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const rounds = 20;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function make(path: string, body: object): Promise<string> {
  const answer = await server.request('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body.id;
}

/** Requests ten of a thousand units from a counter that may not exist. */
function firstMove(counter: CounterRef): SliceMove {
  return {
    counter,
    isNew: true,
    units: 0,
    spent: 0,
    offered: 0,
    want: 0,
    isAnswer: false,
    leaseMs: null,
    refusedUnits: null,
    needs: [{ units: 10, unitsMin: 10 }],
    limitUnits: 1_000,
    alertThresholdUnits: null,
    type: 'tokens',
    label: 'test',
  };
}

it('creates counters for many concurrent processes in any order without a retry', async () => {
  const { db, transaction } = server.database;
  const organisationId = newId();
  for (let round = 0; round < rounds; round += 1) {
    const counters = Array.from({ length: 2 }, () => ({
      isRate: false,
      subjectKind: 'api_key' as const,
      subjectId: randomBytes(16),
      windowStart: 0,
      id: Buffer.alloc(16),
      valueKey: '',
      endsAt: null,
    }));
    const open = (at: number) => {
      const moves = (at % 2 === 0 ? counters : counters.toReversed()).map(firstMove);
      const holder = { organisationId, holder: randomBytes(16) };
      return transaction((tx) => exchange(tx, holder, moves, 0), 1);
    };
    const opened = await Promise.all(Array.from({ length: 5 }, (_, at) => open(at)));
    expect(opened.flat().map((outcome) => outcome?.granted)).toEqual(new Array(10).fill(10));
    for (const { subjectId } of counters) {
      const rows = db.selectFrom('usage_counters').where('subject_id', '=', subjectId);
      expect(await rows.select('reserved_units').execute()).toEqual([{ reserved_units: 50 }]);
    }
  }
  // A counter without an owner would be reported as lost.
  for (const table of ['usage_counters', 'usage_slices'] as const) {
    await db.deleteFrom(table).where('organisation_id', '=', organisationId).execute();
  }
});

async function defaultsOf(workspaceId: string | null): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    SELECT COUNT(*) AS total FROM configs
    WHERE workspace_id <=> ${workspaceId} AND is_default = 1`.execute(server.database.db);
  return Number(rows[0]!.total);
}

describe('a default config', () => {
  const places = { 'a workspace': true, 'the organisation': false };

  it.each(Object.entries(places))(
    'remains the only one %s when many are created or made default concurrently',
    async (_, inWorkspace) => {
      const workspaceId = inWorkspace ? await make('/admin/v2/workspaces', { name: 'one' }) : null;
      const place = workspaceId === null ? {} : { workspace_id: workspaceId };
      const plain = await Promise.all(
        Array.from({ length: 4 }, () => make('/v2/configs', { name: 'c', config: {}, ...place })),
      );
      for (let round = 0; round < rounds; round += 1) {
        const creates = Array.from({ length: 4 }, () =>
          server.request('POST', '/v2/configs', {
            body: { name: 'c', config: {}, isDefault: 1, ...place },
          }),
        );
        const updates = plain.map((id) =>
          server.request('PUT', `/v2/configs/${id}`, { body: { isDefault: 1 } }),
        );
        const answers = await Promise.all([...creates, ...updates]);
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
        expect(await defaultsOf(workspaceId)).toBe(1);
      }
    },
  );
});

describe('a workspace that is force-deleted', () => {
  it('leaves no reference to it, whatever is created there concurrently', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspaceId = await make('/admin/v2/workspaces', { name: 'doomed' });
      const place = { workspace_id: workspaceId };
      const integrationId = await make('/admin/v2/mcp-integrations', {
        name: 'crm',
        url: 'https://crm.example.com/mcp',
        auth_type: 'none',
        transport: 'http',
        ...place,
      });
      const serverId = await make('/v2/mcp-servers', {
        name: 'crm',
        mcp_integration_id: integrationId,
        ...place,
      });
      const checks = [{ id: 'default.wordCount' }];
      const [guardrailId, outsideId] = await Promise.all([
        make('/v2/guardrails', { name: 'in', target: 'mcp_tools', checks, ...place }),
        make('/v2/guardrails', { name: 'out', target: 'mcp_tools', checks }),
      ]);
      const configId = await make('/v2/configs', { name: 'c', config: {}, ...place });
      const at = (path: string, method: string, body: object) =>
        server.request(method, path, { body });
      const mapping = (id: string) => `/admin/v2/guardrails/${id}/mcp-servers/${serverId}`;
      const answers = await Promise.all([
        at(mapping(guardrailId), 'PUT', {}),
        at(mapping(outsideId), 'PUT', {}),
        at(`/admin/v2/mcp-integrations/${integrationId}/capabilities`, 'PUT', {
          capabilities: [{ name: 'search', type: 'tool', enabled: true }],
        }),
        at('/v1/api-keys/workspace/service', 'POST', {
          name: 'k',
          scopes: ['logs.view'],
          defaults: { config_id: configId },
          ...place,
        }),
        at('/v2/mcp-servers', 'POST', {
          name: 'second',
          mcp_integration_id: integrationId,
          ...place,
        }),
        at(`/v2/configs/${configId}`, 'PUT', { config: { retry: { attempts: 2 } } }),
        at(`/admin/v2/workspaces/${workspaceId}`, 'DELETE', {
          name: 'doomed',
          force_delete: true,
        }),
      ]);
      expect(answers.at(-1)!.status).toBe(200);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      expect((await checkConsistency(server.database)).found).toEqual([]);
    }
  });
});

describe('a virtual key', () => {
  const at = (path: string, method: string, body?: object) =>
    server.request(method, path, { ...(body && { body }) });

  /** Creates a virtual key in a new workspace; returns the addresses of the key and its parts. */
  async function makeKey() {
    const workspaceId = await make('/admin/v2/workspaces', { name: 'doomed' });
    const place = { workspace_id: workspaceId };
    const key = { name: 'k', provider: 'openai', key: 'sk-first', ...place };
    const { slug } = (await at('/v1/virtual-keys', 'POST', key)).body.data;
    const { integration_id: integrationId } = (await at(`/v1/virtual-keys/${slug}`, 'GET')).body;
    return {
      key: `/v1/virtual-keys/${slug}`,
      provider: `/v1/providers/${slug}`,
      integration: `/v1/integrations/${integrationId}`,
      workspace: `/admin/v2/workspaces/${workspaceId}`,
    };
  }

  /** Concurrent changes, each of another field. */
  const changes = (made: Awaited<ReturnType<typeof makeKey>>, round: number) => [
    at(made.key, 'PUT', { name: `name ${round}` }),
    at(made.key, 'PUT', { key: `sk-${round}`, rate_limits: null }),
    at(made.provider, 'PUT', { note: `note ${round}` }),
    at(made.integration, 'PUT', { description: `description ${round}` }),
    at(made.workspace, 'PUT', { description: `place ${round}` }),
  ];

  it('keeps every concurrent change of the key, its provider, its integration and its workspace', async () => {
    const made = await makeKey();
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(changes(made, round));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      const [key, integration] = await Promise.all([
        at(made.key, 'GET'),
        at(made.integration, 'GET'),
      ]);
      expect(key.body).toMatchObject({ name: `name ${round}`, note: `note ${round}` });
      expect(integration.body).toMatchObject({ description: `description ${round}` });
    }
  });

  it('leaves no dangling reference when the parts are deleted in any order during changes', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const made = await makeKey();
      const force = { name: 'doomed', force_delete: true };
      const answers = await Promise.all([
        ...changes(made, round),
        at(made.key, 'DELETE'),
        at(made.integration, 'DELETE'),
        at(made.provider, 'DELETE'),
        ...(round % 2 === 0 ? [] : [at(made.workspace, 'DELETE', force)]),
      ]);
      const unexpected = answers.filter(({ status }) => ![200, 404, 409].includes(status));
      expect(unexpected.map(({ body }) => body)).toEqual([]);
      expect((await checkConsistency(server.database)).found).toEqual([]);
    }
  });
});
