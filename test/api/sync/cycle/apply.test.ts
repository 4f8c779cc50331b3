/**
 * Verifies apply over HTTP against a real server: convergence, request counts, ownership, stale
 * plans, secrets.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resultDocument } from '../../../../src/sync/report/document.ts';
import { markdownReport } from '../../../../src/sync/report/markdown.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { addServiceAccount } from '../../../support/server/tenant.ts';
import { endLeases, leaseHeaders } from '../../../support/sync/lease.ts';
import {
  canaries,
  desiredFrom,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
  withoutSets,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const support = `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {description: d}
---
`;

async function idOf(key: string): Promise<string> {
  const { plan } = await sync.cycle('', { act: false, prune: false });
  return plan.live.get(key)!.id;
}

describe('every kind', () => {
  it('is created, and a second plan is empty', async () => {
    const first = await sync.cycle(everyKind);
    expect(first.report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(first.ending).toBe('success');
    const again = await sync.cycle(everyKind, { act: false });
    expect(again.plan.changes).toEqual([]);
    expect(again.plan.unchanged).toBe(9);
    expect(again.ending).toBe('success');
  });

  it('applies changed, removed and added fields, after which the plan is empty', async () => {
    await sync.cycle(everyKind);
    const changed = everyKind
      .replace('description: Customer support', 'icon: 🚀')
      .replace('maxWords: 200', 'maxWords: 300')
      .replace(
        "{deny: true, on_fail: {feedback: {value: -5, weight: 1, metadata: ''}}}",
        '{deny: false}',
      )
      .replace('words: [drop]', 'words: [drop, truncate]')
      .replace('attempts: 3', 'attempts: 4')
      .replace('  rateLimits: [{type: requests, unit: rpm, value: 60}]\n', '')
      .replace('  alertEmails: [ops@example.com]\n', '  description: bot of support\n')
      .replace('  expiresAt: 2028-03-31T00:00:00Z\n', '')
      .replace(', allowConfigOverride: false, metadata: {app: bot}', '')
      .replace('{env: GW_VAR_CRM_TOKEN', '{env: GW_VAR_OTHER_TOKEN')
      .replace(', description: CRM tools', '')
      .replace('runOn: [input]', 'runOn: [input, output]')
      .replace('creditLimit: 12.5', 'creditLimit: 13.75')
      .replace('  periodicReset: weekly\n', '');
    const result = await sync.cycle(changed);
    expect(result.report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(result.plan.changes.map(({ action }) => action)).toEqual(Array(9).fill('update'));
    const again = await sync.cycle(changed, { act: false });
    expect(again.plan.changes.flatMap(({ id, fields }) => [id, fields])).toEqual([]);
  });

  it('returns to its defaults when fields leave the source', async () => {
    await sync.cycle(everyKind);
    const bare = everyKind
      .replace('  actions: {deny: true', '  actions: {deny: false')
      .replace(
        '  usageLimits: {creditLimit: 1000, alertThreshold: 800, periodicReset: monthly}\n',
        '',
      )
      .replace('  rateLimits: [{type: requests, unit: rpm, value: 600}]\n', '')
      .replace('  defaults: {metadata: {team: cx}}\n', '')
      .replace(
        '  usageLimits: {creditLimit: 500, alertThreshold: 400, periodicReset: monthly}\n',
        '',
      )
      .replace(
        '  defaults: {configRef: routing, allowConfigOverride: false, metadata: {app: bot}}\n',
        '',
      );
    const result = await sync.cycle(bare);
    expect(result.report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(result.plan.changes.map(({ reason }) => reason)).toContain('default-reset');
    expect((await sync.cycle(bare, { act: false })).plan.changes).toEqual([]);
    const workspace = await server.request(
      'GET',
      `/admin/v2/workspaces/${await idOf('Workspace/support')}`,
    );
    expect(workspace.body).toMatchObject({ usage_limits: [], rate_limits: [] });
  });

  it('is deleted in a valid order when it leaves the source', async () => {
    await sync.cycle(everyKind);
    const result = await sync.cycle('');
    expect(result.report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(result.report?.items).toHaveLength(9);
    const { plan } = await sync.cycle('', { act: false });
    expect(plan.owned).toBe(0);
  });
});

describe('the number of requests', () => {
  it('is at most 3 for a plan without changes, which writes nothing', async () => {
    await sync.cycle(everyKind);
    const client = sync.openClient();
    await sync.cycle(everyKind, { client, act: false });
    expect(client.requests).toBeLessThanOrEqual(3);
    expect(client.writes).toBe(0);
  });

  it('includes no write in a second apply', async () => {
    await sync.cycle(everyKind);
    const client = sync.openClient();
    const second = await sync.cycle(everyKind, { client });
    expect(second.ending).toBe('success');
    expect(client.writes).toBe(0);
  });

  it('returns no body for a repeated read of an unchanged server', async () => {
    const { read } = await sync.cycle(everyKind);
    const settled = await sync.cycle(everyKind, { previous: read });
    expect(settled.read).not.toBe(read);
    const repeated = await sync.cycle(everyKind, { previous: settled.read });
    expect(repeated.read).toBe(settled.read);
  });
});

describe('drift', () => {
  it('is reported as such and reverted', async () => {
    await sync.cycle(everyKind);
    const id = await idOf('ApiKey/support/bot');
    await server.request('PUT', `/v2/api-keys/${id}`, {
      body: { alert_emails: ['evil@example.com'] },
    });
    const result = await sync.cycle(everyKind);
    expect(result.plan.changes).toMatchObject([
      { id: 'ApiKey/support/bot', action: 'update', reason: 'drift' },
    ]);
    const { body } = await server.request('GET', `/v2/api-keys/${id}`);
    expect(body.alert_emails).toEqual(['ops@example.com']);
  });

  it('is detected by fingerprint for a write-only value', async () => {
    await sync.cycle(everyKind);
    const id = await idOf('McpIntegration/support/crm');
    await server.request('PUT', `/admin/v2/mcp-integrations/${id}`, {
      body: { configurations: { custom_headers: { Authorization: 'Bearer changed-by-hand' } } },
    });
    const { plan } = await sync.cycle(everyKind);
    expect(plan.changes).toMatchObject([
      {
        reason: 'drift',
        fields: [{ path: '/configurations/custom_headers/Authorization', secret: true }],
      },
    ]);
    expect((await sync.cycle(everyKind, { act: false })).plan.changes).toEqual([]);
  });
});

describe('a change made between plan and apply', () => {
  it('makes that item stale with exit code 7, and is not overwritten', async () => {
    await sync.cycle(everyKind);
    const id = await idOf('ApiKey/support/bot');
    const result = await sync.cycle(everyKind.replace('ops@example.com', 'new@example.com'), {
      confirm: async () => {
        await server.request('PUT', `/v2/api-keys/${id}`, { body: { description: 'meanwhile' } });
        return true;
      },
    });
    expect(result.ending).toBe('retryable');
    expect(result.report?.items).toMatchObject([{ id: 'ApiKey/support/bot', status: 'stale' }]);
    const { body } = await server.request('GET', `/v2/api-keys/${id}`);
    expect(body).toMatchObject({ description: 'meanwhile', alert_emails: ['ops@example.com'] });
  });

  it('makes a delete stale as well', async () => {
    await sync.cycle(support);
    const id = await idOf('Workspace/support');
    const result = await sync.cycle('', {
      confirm: async () => {
        await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: { description: 'x' } });
        return true;
      },
    });
    expect(result.ending).toBe('retryable');
  });
});

describe('ownership', () => {
  it('separates two owners: neither prunes nor changes resources of the other', async () => {
    await sync.cycle(support);
    const other = sync.openClient({ owner: 'team-b' });
    const theirs = support.replaceAll('support', 'lab');
    expect((await sync.cycle(theirs, { client: other })).ending).toBe('success');
    expect((await sync.cycle('', { client: other, act: false })).plan.changes).toMatchObject([
      { id: 'Workspace/lab', action: 'delete' },
    ]);
    expect((await sync.cycle(support, { act: false })).plan.changes).toEqual([]);
  });

  it('blocks what belongs to another owner, names owner and source, and allows a takeover', async () => {
    await sync.cycle(support);
    const other = sync.openClient({ owner: 'team-b' });
    const blocked = await sync.cycle(support, { client: other });
    expect(blocked.ending).toBe('refusedByGuard');
    expect(blocked.plan.blocked[0]?.message).toMatch(
      /owner "platform", declared in \/source all\.yaml:2/,
    );
    const taken = await sync.cycle(support, { client: other, takeOwnership: true });
    expect(taken).toMatchObject({ ending: 'success', plan: { changes: [{ action: 'adopt' }] } });
    expect((await sync.cycle('', { act: false })).plan.owned).toBe(0);
  });

  it('never changes an unmanaged resource of the same name, reports it, and adopts it on request', async () => {
    const made = await server.request('POST', '/admin/v2/workspaces', {
      body: { name: 'support', description: 'made by hand' },
    });
    const before = (await server.request('GET', `/admin/v2/workspaces/${made.body.id}`)).body;
    const blocked = await sync.cycle(everyKind);
    expect(blocked.ending).toBe('refusedByGuard');
    expect(blocked.report).toBeNull();
    expect(blocked.plan.blocked).toHaveLength(9);
    const after = (await server.request('GET', `/admin/v2/workspaces/${made.body.id}`)).body;
    expect(after).toEqual(before);
    const adopted = await sync.cycle(everyKind, { takeOwnership: true });
    expect(adopted.ending).toBe('success');
    expect(await idOf('Workspace/support')).toBe(made.body.id);
    expect((await sync.cycle(everyKind, { act: false })).plan.changes).toEqual([]);
  });

  it('does not prune unmanaged resources', async () => {
    await sync.cycle(support);
    const workspace = await idOf('Workspace/support');
    const made = await server.request('POST', '/v2/configs', {
      body: { name: 'by hand', config: {}, workspace_id: workspace },
    });
    const result = await sync.cycle('');
    expect(result.plan.blocked).toMatchObject([{ id: 'Workspace/support', reason: 'in-use' }]);
    expect((await server.request('GET', `/v2/configs/${made.body.id}`)).status).toBe(200);
  });

  it('references existing resources with External', async () => {
    const made = await server.request('POST', '/admin/v2/workspaces', { body: { name: 'Shared' } });
    const files = `
apiVersion: gatewright.dev/v1
kind: External
metadata: {name: shared}
spec: {kind: Workspace, slug: ${made.body.slug}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: shared}
spec: {config: {retry: {attempts: 2}}}
`;
    expect((await sync.cycle(files)).ending).toBe('success');
    expect((await sync.cycle(files, { act: false })).plan.changes).toEqual([]);
    const config = await server.request(
      'GET',
      `/v2/configs/${await idOf('Config/shared/routing')}`,
    );
    expect(config.body.workspace_id).toBe(made.body.id);
  });
});

describe('resources of another credential', () => {
  /**
   * Eight resources that no manifest declares, with the fields by which an owner would claim them.
   */
  const made = async () =>
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const body = { name: `precious ${index}`, config: {} };
        const { id } = (await server.request('POST', '/v2/configs', { body })).body;
        const source = { repo: '/elsewhere', revision: null };
        const mark = { owner: 'platform', workspace: null, name: `p${index}`, source };
        return { id, managed_by: { ...mark, last_applied: {} } };
      }),
    );

  it('is never deleted by sync, neither without the lease nor after a takeover of the lease', async () => {
    await sync.cycle(support);
    const { send: stranger } = await addServiceAccount(server, 'superuser');
    const precious = await made();
    const claimAll = (headers: Record<string, string>) =>
      Promise.all(
        precious.map(({ id, managed_by }) =>
          stranger('PUT', `/v2/configs/${id}`, { body: { managed_by }, headers }),
        ),
      );
    const statuses = async (headers: Record<string, string>) =>
      (await claimAll(headers)).map(({ status }) => status);
    expect(new Set(await statuses({}))).toEqual(new Set([400]));
    await expect(leaseHeaders(stranger, 'platform')).rejects.toThrow(/another credential/);
    const taken = await leaseHeaders(stranger, 'platform', { take_over: true });
    expect(new Set(await statuses(taken))).toEqual(new Set([200]));
    await endLeases(server);
    expect(await sync.cycle('', { prune: true }).catch((error: Error) => error.message)).toContain(
      'belongs to another credential',
    );
    await leaseHeaders(server.request, 'platform', { take_over: true });
    await endLeases(server);
    const { plan } = await sync.cycle(support, { allowDeletes: 1000 });
    expect(plan.changes).toEqual([]);
    expect(new Set(plan.blocked.map(({ reason }) => reason))).toEqual(
      new Set(['other-credential']),
    );
    for (const { id } of precious) {
      expect((await server.request('GET', `/v2/configs/${id}`)).status).toBe(200);
    }
  });

  it('is neither deleted by a tombstone nor replaced by another credential, until that credential takes it over', async () => {
    const replaceable = `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: fixed}
spec: {scopes: [configs.list]}
`;
    const replaced = replaceable.replace(
      'spec: {',
      'spec: {subType: user, userId: 0197c2a5-6f5e-7c3a-9d5e-1f2a3b4c5d6e, ',
    );
    const absent = replaceable.replace('spec: {scopes: [configs.list]}', 'state: absent');
    await sync.cycle(replaceable);
    const { db } = server.database;
    await db.updateTable('managed_resources').set({ recorded_by: 'a stranger' }).execute();
    const id = await idOf('ApiKey/fixed');
    for (const source of [absent, replaced]) {
      const { plan } = await sync.cycle(source, { allowDeletes: 1000 });
      expect(plan.changes).toEqual([]);
      expect(plan.blocked).toMatchObject([{ id: 'ApiKey/fixed', reason: 'other-credential' }]);
      expect(plan.blocked[0]!.message).toContain('--take-ownership');
      expect(await idOf('ApiKey/fixed')).toBe(id);
    }
    const { plan } = await sync.cycle(absent, { takeOwnership: true });
    expect(plan.changes).toMatchObject([{ action: 'delete', prune: false }]);
    expect((await server.request('GET', `/v2/api-keys/${id}`)).status).toBe(404);
  });

  it('is taken over on request: records and lease belong to the new credential', async () => {
    await sync.cycle(support);
    const { db } = server.database;
    await db.updateTable('managed_resources').set({ recorded_by: 'lost' }).execute();
    await db.updateTable('sync_leases').set({ principal_id: 'lost' }).execute();
    expect(await sync.cycle(support)).toMatchObject({ ending: 'success', report: null });
    const taken = await sync.cycle(support, { takeOwnership: true });
    expect(taken).toMatchObject({ ending: 'success', plan: { changes: [{ action: 'update' }] } });
    expect(await sync.cycle('')).toMatchObject({ ending: 'success' });
  });
});

describe('renames', () => {
  it('keeps the id of a resource and of everything in a renamed workspace', async () => {
    await sync.cycle(everyKind);
    const before = await Promise.all(['Workspace/support', 'ApiKey/support/bot'].map(idOf));
    const renamed = everyKind
      .replace('metadata: {name: support}', 'metadata: {name: help, previousNames: [support]}')
      .replaceAll('workspace: support', 'workspace: help')
      .replace(
        '{name: bot, workspace: help}',
        '{name: agent, workspace: help, previousNames: [bot]}',
      )
      .replace('apiKeyRef: bot', 'apiKeyRef: agent')
      .replace('workspaceRef: support', 'workspaceRef: help');
    const result = await sync.cycle(renamed);
    expect(result.report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(await Promise.all(['Workspace/help', 'ApiKey/help/agent'].map(idOf))).toEqual(before);
    expect((await sync.cycle(renamed, { act: false })).plan.changes).toEqual([]);
  });
});

describe('guards', () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, at) => support.replaceAll('support', `w${at}`)).join('');

  it('refuses to prune everything when the source is empty, and prints the way out', async () => {
    await sync.cycle(many(2));
    const result = await sync.cycle('', { allowDeletes: null });
    expect(result).toMatchObject({ ending: 'refusedByGuard', report: null });
    expect(result.refusal?.message).toContain('gatewright apply . --allow-deletes 2');
    expect((await sync.cycle(many(2), { act: false })).plan.changes).toEqual([]);
    expect((await sync.cycle('', { allowDeletes: 2 })).ending).toBe('success');
  });

  it('refuses more than ten deletions, and allows --no-prune to apply the rest', async () => {
    await sync.cycle(many(12));
    const next = `${support}${many(1)}`;
    const refused = await sync.cycle(next, { allowDeletes: null });
    expect(refused).toMatchObject({
      ending: 'refusedByGuard',
      report: null,
      refusal: { deletes: 11 },
    });
    const rest = await sync.cycle(next, { allowDeletes: null, prune: false });
    expect(rest).toMatchObject({
      ending: 'success',
      plan: { changes: [{ id: 'Workspace/support' }] },
    });
  });

  it('allows tombstones', async () => {
    await sync.cycle(many(1));
    const tombstone = many(1).replace('spec: {description: d}', 'state: absent');
    expect((await sync.cycle(tombstone, { allowDeletes: null })).ending).toBe('success');
  });
});

describe('partial failure', () => {
  it('blocks dependent changes, continues with the rest, and reports the position', async () => {
    const remote = { url: 'https://mcp.example.com', auth_type: 'none', transport: 'http' };
    const made = await server.request('POST', '/admin/v2/mcp-integrations', {
      body: { ...remote, name: 'Elsewhere', slug: 'taken' },
    });
    expect(made).toMatchObject({ status: 200 });
    const files = `${support}
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, workspace: support}
spec: {slug: taken, url: 'https://mcp.example.com', authType: none, transport: http}
---
apiVersion: gatewright.dev/v1
kind: McpServer
metadata: {name: guarded, workspace: support}
spec: {mcpIntegrationRef: crm}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: plain, workspace: support}
spec: {config: {retry: {attempts: 1}}}
`;
    const result = await sync.cycle(files);
    expect(result.ending).toBe('partialFailure');
    expect(result.report?.items.map(({ id, status }) => [id, status])).toEqual([
      ['Workspace/support', 'done'],
      ['Config/support/plain', 'done'],
      ['McpIntegration/support/crm', 'failed'],
      ['McpServer/support/guarded', 'blocked'],
    ]);
    expect(result.report?.items[2]?.position).toMatchObject({ file: 'all.yaml', line: 11 });
    expect(textReport(result)).toMatch(/failed: all\.yaml:11:\d+: create McpIntegration/);
  });

  it('starts nothing more after an interrupt, and the next run finishes', async () => {
    const controller = new AbortController();
    const result = await sync.cycle(everyKind, {
      client: withoutSets(sync.openClient()),
      signal: controller.signal,
      onItem: () => controller.abort(),
    });
    expect(result.report).toMatchObject({ interrupted: true });
    expect(result.ending).toBe('partialFailure');
    expect(result.report?.items[0]).toMatchObject({ id: 'Workspace/support', status: 'done' });
    expect(result.report?.items.slice(1).every(({ status }) => status === 'blocked')).toBe(true);
    expect((await sync.cycle(everyKind)).ending).toBe('success');
  });
});

describe('secrets', () => {
  it('appears in no plan, report or server log', async () => {
    const first = await sync.cycle(everyKind);
    const changed = await sync.cycle(
      everyKind.replace('{env: GW_VAR_CRM_TOKEN', '{env: GW_VAR_OTHER_TOKEN'),
    );
    const key = readFileSync(join(sync.secretsFolder, 'support/bot.key'), 'utf8').trim();
    const outputs = [first, changed].flatMap((result) => [
      textReport(result),
      markdownReport(result),
      JSON.stringify(resultDocument(result)),
      JSON.stringify([...result.plan.live]),
    ]);
    const desired = JSON.stringify(await desiredFrom(everyKind));
    const everything = [...outputs, ...server.logLines, desired].join('\n');
    for (const value of [...Object.values(canaries), key, server.clientSecret]) {
      expect(everything).not.toContain(value);
    }
    expect(outputs.join()).toContain('(secret env:GW_VAR_OTHER_TOKEN)');
  });
});
