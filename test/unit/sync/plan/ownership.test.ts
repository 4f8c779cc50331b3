/**
 * Tests the ownership of resources: own, another owner's or unmanaged, and the effect of a
 * takeover.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;

beforeEach(() => {
  server = new ModelServer();
});

const workspace = want('Workspace', 'support');

describe('an unmanaged twin', () => {
  it('blocks the manifest of the same name and everything that depends on it', () => {
    const { id } = server.seed('Workspace', 'support', {});
    const plan = server.plan(setOf([workspace, want('Config', 'support/c', { config: {} })]));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([
      { id: 'Config/support/c', reason: 'dependency' },
      { id: 'Workspace/support', reason: 'unmanaged-twin', message: expect.stringContaining(id) },
    ]);
  });

  it('matches by its title or slug', () => {
    server.seed('McpIntegration', 'CRM', { slug: 'crm' });
    const fields = { name: 'Something else', slug: 'crm' };
    expect(server.plan(setOf([want('McpIntegration', 'x', fields)])).blocked).toHaveLength(1);
    const titled = want('McpIntegration', 'x', { name: 'CRM', slug: 'other' });
    expect(server.plan(setOf([titled])).blocked).toHaveLength(1);
    const free = want('McpIntegration', 'x', { slug: 'free' });
    expect(server.plan(setOf([free])).changes).toHaveLength(1);
  });

  it('is adopted with its id on request, together with its dependants', () => {
    const ws = server.seed('Workspace', 'support', {});
    const config = server.seed('Config', 'routing', { config: {} }, ws.id);
    const desired = setOf([
      workspace,
      want('Config', 'support/c', { name: 'routing', config: {} }),
    ]);
    const plan = server.plan(desired, { takeOwnership: true });
    expect(plan.changes.map(({ action, fields }) => [action, fields])).toEqual([
      ['adopt', []],
      ['adopt', []],
    ]);
    server.apply(plan);
    expect(server.find('Config/support/c').id).toBe(config.id);
    expect(server.plan(desired).changes).toEqual([]);
  });

  it('requires a decision when the name exists twice', () => {
    server.seed('Workspace', 'support', {});
    server.seed('Workspace', 'support', {});
    const plan = server.plan(setOf([workspace]), { takeOwnership: true });
    expect(plan.changes).toEqual([]);
    expect(plan.blocked[0]?.message).toContain('several unmanaged');
  });

  it('is never replaced: a different fixed field blocks it', () => {
    server.seed('Guardrail', 'g', { checks: [], target: 'mcp_tools' });
    const plan = server.plan(setOf([want('Guardrail', 'g', { checks: [], target: 'llm' })]), {
      takeOwnership: true,
    });
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([{ reason: 'other-owner' }]);
  });

  it('is not deleted by a tombstone', () => {
    server.seed('Workspace', 'support', {});
    const tombstone = setOf([want('Workspace', 'support', {}, { absent: true })]);
    for (const takeOwnership of [false, true]) {
      const plan = server.plan(tombstone, { takeOwnership });
      expect(plan.changes).toEqual([]);
      expect(plan.blocked).toHaveLength(1);
    }
  });

  it('matches a binding by its two ends', () => {
    const guardrail = want('Guardrail', 'g', { checks: [], target: 'mcp_tools' });
    const integration = want('McpIntegration', 'i', { slug: 'i' });
    const mcp = want('McpServer', 'support/s', {
      mcp_integration_id: { $ref: 'McpIntegration/i' },
    });
    const ends = {
      guardrail_id: { $ref: 'Guardrail/g' },
      mcp_server_id: { $ref: 'McpServer/support/s' },
    };
    server.apply(server.plan(setOf([workspace, guardrail, integration, mcp])));
    const mapping = server.seed('GuardrailMcpBinding', '', {
      guardrail_id: server.find('Guardrail/g').id,
      mcp_server_id: server.find('McpServer/support/s').id,
    });
    mapping.name = null;
    const binding = want('GuardrailMcpBinding', 'b', ends);
    const plan = server.plan(setOf([workspace, guardrail, integration, mcp, binding]));
    expect(plan.blocked).toMatchObject([{ id: 'GuardrailMcpBinding/b', reason: 'unmanaged-twin' }]);
    mapping.spec.guardrail_id = 'another guardrail';
    const free = server.plan(setOf([workspace, guardrail, integration, mcp, binding]));
    expect(free.blocked).toEqual([]);
    expect(free.changes.map(({ action, id }) => [action, id])).toEqual([
      ['create', 'GuardrailMcpBinding/b'],
    ]);
  });
});

describe('another owner’s resource', () => {
  beforeEach(() => {
    server.apply(server.plan(setOf([workspace]), { as: 'team-b' }));
  });

  it('blocks the manifest, naming the owner and the source', () => {
    const { blocked, changes } = server.plan(setOf([workspace]));
    expect(changes).toEqual([]);
    expect(blocked).toMatchObject([{ reason: 'other-owner' }]);
    expect(blocked[0]?.message).toContain('owner "team-b", declared in /src Workspace.yaml:1');
  });

  it('is neither counted as owned nor pruned', () => {
    expect(server.plan(setOf([]))).toMatchObject({ changes: [], owned: 0, unmanaged: [] });
  });

  it('allows a takeover', () => {
    const plan = server.plan(setOf([workspace]), { takeOwnership: true });
    expect(plan.changes).toMatchObject([{ action: 'adopt', fields: [] }]);
    server.apply(plan);
    expect(server.find('Workspace/support').managed_by?.owner).toBe('platform');
  });
});

describe('previous names', () => {
  it('assigns each resource to one manifest', () => {
    server.apply(server.plan(setOf([want('Workspace', 'a')])));
    const heirs = ['b', 'c'].map((name) => want('Workspace', name, {}, { previousNames: ['a'] }));
    expect(
      server
        .plan(setOf(heirs))
        .changes.map(({ action }) => action)
        .sort(),
    ).toEqual(['create', 'update']);
  });
});
