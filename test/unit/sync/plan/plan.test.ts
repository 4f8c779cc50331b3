/** Tests the three-way comparison: the planned change for every combination of the three sides. */
import { beforeEach, describe, expect, it } from 'vitest';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import { ModelServer, owner, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;

beforeEach(() => {
  server = new ModelServer();
});

const workspace = want('Workspace', 'support');
const key = (fields = {}, options = {}) =>
  want(
    'ApiKey',
    'support/bot',
    { type: 'workspace', sub_type: 'service', scopes: ['logs.view'], ...fields },
    options,
  );

function summary(plan: Plan): unknown {
  return plan.changes.map(({ action, id, reason, fields }) => ({
    action,
    id,
    reason,
    fields: fields.map(({ path, from, to }) => [path, from, to]),
  }));
}

function applied(...resources: ReturnType<typeof want>[]): void {
  server.apply(server.plan(setOf(resources)));
}

describe('the three-way table', () => {
  it('ignores a field that is in neither base nor source, whatever it is on the server', () => {
    applied(workspace, key());
    server.find('ApiKey/support/bot').spec.description = 'set by hand';
    expect(summary(server.plan(setOf([workspace, key()])))).toEqual([]);
  });

  it('plans nothing where source and server agree', () => {
    applied(workspace, key({ description: 'a' }));
    const plan = server.plan(setOf([workspace, key({ description: 'a' })]));
    expect(summary(plan)).toEqual([]);
    expect(plan.unchanged).toBe(2);
  });

  it('updates a field that the source has changed', () => {
    applied(workspace, key({ description: 'a' }));
    expect(summary(server.plan(setOf([workspace, key({ description: 'b' })])))).toEqual([
      {
        action: 'update',
        id: 'ApiKey/support/bot',
        reason: 'change',
        fields: [['/description', 'a', 'b']],
      },
    ]);
  });

  it('reports drift where the server has changed and the source has not', () => {
    applied(workspace, key({ description: 'a' }));
    server.find('ApiKey/support/bot').spec.description = 'by hand';
    expect(summary(server.plan(setOf([workspace, key({ description: 'a' })])))).toEqual([
      {
        action: 'update',
        id: 'ApiKey/support/bot',
        reason: 'drift',
        fields: [['/description', 'by hand', 'a']],
      },
    ]);
  });

  it('resets a field that was applied before and left the source', () => {
    applied(workspace, key({ description: 'a' }));
    expect(summary(server.plan(setOf([workspace, key()])))).toEqual([
      {
        action: 'update',
        id: 'ApiKey/support/bot',
        reason: 'default-reset',
        fields: [['/description', 'a', null]],
      },
    ]);
    applied(workspace, key());
    expect(server.find('ApiKey/support/bot').spec).not.toHaveProperty('description');
  });

  it('records a field that already has the desired value, so that removing it later resets it', () => {
    applied(workspace, key());
    server.find('ApiKey/support/bot').spec.description = 'a';
    expect(summary(server.plan(setOf([workspace, key({ description: 'a' })])))).toEqual([
      {
        action: 'update',
        id: 'ApiKey/support/bot',
        reason: 'change',
        fields: [['/description', 'a', 'a']],
      },
    ]);
    applied(workspace, key({ description: 'a' }));
    applied(workspace, key());
    expect(server.find('ApiKey/support/bot').spec).not.toHaveProperty('description');
  });

  it('clears keys of a merged object one by one and leaves the others', () => {
    const defaults = { metadata: { team: 'cx' }, allow_config_override: false };
    applied(workspace, key({ defaults }));
    const spec = server.find('ApiKey/support/bot').spec;
    spec.defaults = { ...defaults, config_id: 'set-by-hand' };
    applied(workspace, key({ defaults: { allow_config_override: false } }));
    expect(server.find('ApiKey/support/bot').spec.defaults).toEqual({
      allow_config_override: false,
      config_id: 'set-by-hand',
    });
    applied(workspace, key());
    expect(server.find('ApiKey/support/bot').spec.defaults).toEqual({
      config_id: 'set-by-hand',
    });
  });
});

describe('actions', () => {
  it('creates what is missing, in the order of its references', () => {
    const config = want('Config', 'support/routing', { config: { retry: { attempts: 2 } } });
    const bound = key({ defaults: { config_id: { $ref: 'Config/support/routing' } } });
    const plan = server.plan(setOf([bound, config, workspace]));
    expect(plan.changes.map(({ id, dependsOn }) => [id, dependsOn])).toEqual([
      ['Workspace/support', []],
      ['Config/support/routing', ['Workspace/support']],
      ['ApiKey/support/bot', ['Config/support/routing', 'Workspace/support']],
    ]);
  });

  it('replaces a resource where a fixed field differs', () => {
    applied(workspace, key());
    const id = server.find('ApiKey/support/bot').id;
    const changed = key({ user_id: '6fd43ed1-0b5e-4c8e-a6f7-0a8ba3c9e111' });
    expect(server.plan(setOf([workspace, changed])).changes[0]?.action).toBe('replace');
    applied(workspace, changed);
    expect(server.find('ApiKey/support/bot').id).not.toBe(id);
    expect(server.resources).toHaveLength(2);
  });

  it('rejects the replacement of a protected resource', () => {
    applied(workspace, key({}, { protected: true }));
    const plan = server.plan(setOf([workspace, key({ sub_type: 'user' }, { protected: true })]));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([{ id: 'ApiKey/support/bot', reason: 'protected' }]);
  });

  it('rejects the replacement of a referenced resource, and names its users', () => {
    const guardrail = (target: string) => want('Guardrail', 'support/pii', { target, checks: [] });
    const config = want('Config', 'support/routing', {
      config: { input_guardrails: [{ $ref: 'Guardrail/support/pii' }] },
    });
    applied(workspace, guardrail('llm'), config);
    const plan = server.plan(setOf([workspace, guardrail('mcp_tools'), config]));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([{ id: 'Guardrail/support/pii', reason: 'in-use' }]);
    expect(plan.blocked[0]?.message).toContain('Config/support/routing');
  });

  it('deletes resources that left the source, users before what they use', () => {
    const config = want('Config', 'support/routing', { config: {} });
    const bound = key({ defaults: { config_id: { $ref: 'Config/support/routing' } } });
    applied(workspace, config, bound);
    const plan = server.plan(setOf([]));
    expect(plan.changes.map(({ action, id, prune }) => [action, id, prune])).toEqual([
      ['delete', 'ApiKey/support/bot', true],
      ['delete', 'Config/support/routing', true],
      ['delete', 'Workspace/support', true],
    ]);
  });

  it('keeps a resource with the retain policy, and what it refers to', () => {
    applied(workspace, key({}, { onRemoval: 'retain' }));
    const plan = server.plan(setOf([]));
    expect(plan.changes.map(({ action, id }) => [action, id])).toEqual([
      ['retain', 'ApiKey/support/bot'],
    ]);
    expect(plan.blocked).toMatchObject([{ id: 'Workspace/support', reason: 'in-use' }]);
  });

  it('never deletes a resource that was protected when it left the source', () => {
    applied(workspace, key({}, { protected: true }));
    const plan = server.plan(setOf([workspace]));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([{ id: 'ApiKey/support/bot', reason: 'protected' }]);
    applied(workspace, key());
    expect(server.plan(setOf([workspace])).changes.map(({ action }) => action)).toEqual(['delete']);
  });

  it('deletes by tombstone without counting a prune', () => {
    applied(workspace, key());
    const plan = server.plan(setOf([workspace, key({}, { absent: true })]), { prune: false });
    expect(plan.changes.map(({ action, prune }) => [action, prune])).toEqual([['delete', false]]);
    server.apply(plan);
    expect(server.plan(setOf([workspace, key({}, { absent: true })])).changes).toEqual([]);
  });

  it('keeps resources that left the source when prune is off', () => {
    applied(workspace, key());
    expect(server.plan(setOf([]), { prune: false }).changes).toEqual([]);
  });

  it('waits with all dependants of a missing External, and reports what is missing', () => {
    const external = {
      identity: { kind: 'Workspace', workspace: null, name: 'support' } as const,
      position: { file: 'x.yaml', line: 3, column: 1 },
      by: 'slug',
      lookup: 'ws-gone',
    } as const;
    const plan = server.plan(setOf([key()], [external]));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([
      { id: 'ApiKey/support/bot', reason: 'dependency' },
      { id: 'Workspace/support', reason: 'missing-external', position: { line: 3 } },
    ]);
  });

  describe('an External by name', () => {
    const named = (key: string, lookup: string) => ({
      identity: want(key.split('/')[0] as 'Config', key.slice(key.indexOf('/') + 1)).identity,
      position: { file: 'x.yaml', line: 3, column: 1 },
      by: 'name' as const,
      lookup,
    });

    it('resolves to the resource of the name in its workspace, which may itself be found by name', () => {
      for (const name of ['Help', 'Sales']) {
        const { id } = server.seed('Workspace', name, {});
        server.seed('Config', 'Main', { config: {} }, id);
      }
      server.seed('Config', 'Main', { config: {} });
      const externals = [named('Workspace/support', 'Help'), named('Config/support/c', 'Main')];
      const wanted = key({ defaults: { config_id: { $ref: 'Config/support/c' } } });
      const plan = server.plan(setOf([wanted], externals));
      expect(plan.blocked).toEqual([]);
      expect(plan.changes.map(({ id }) => id)).toEqual(['ApiKey/support/bot']);
      server.apply(plan);
      const { spec, workspace_id: workspaceId } = server.find('ApiKey/support/bot');
      const config = server.resources.find(
        ({ kind, workspace_id: within }) => kind === 'Config' && within === workspaceId,
      );
      expect(spec.defaults).toEqual({ config_id: config?.id });
      expect(server.plan(setOf([wanted], externals)).changes).toEqual([]);
    });

    it('rejects an ambiguous name and lists the ids', () => {
      const ids = [1, 2].map(() => server.seed('Config', 'Main', { config: {} }).id);
      const { blocked } = server.plan(setOf([], [named('Config/c', 'Main')]));
      expect(blocked).toMatchObject([{ id: 'Config/c', reason: 'missing-external' }]);
      expect(blocked[0]?.message).toBe(
        `2 of kind Config have the name "Main"; write spec.id, one of ${ids.join(', ')}`,
      );
    });

    it('finds no resource of another workspace', () => {
      const { id } = server.seed('Workspace', 'Sales', {});
      server.seed('Config', 'Main', { config: {} }, id);
      const { blocked } = server.plan(setOf([workspace], [named('Config/support/c', 'Main')]));
      expect(blocked[0]?.message).toBe(
        'no Config with the name "Main" exists on the server in the workspace support',
      );
    });
  });

  it('suggests previousNames when a resource leaves and an equal one appears', () => {
    applied(workspace, key());
    const renamed = want('ApiKey', 'support/bot2', { ...key().spec, name: 'bot2' });
    const { warnings } = server.plan(setOf([workspace, renamed]));
    expect(warnings.join()).toContain('metadata.previousNames: [bot]');
  });
});

describe('renames', () => {
  it('keeps the id and change name and record only', () => {
    applied(workspace, key());
    const { id } = server.find('ApiKey/support/bot');
    const renamed = want(
      'ApiKey',
      'support/agent',
      { ...key().spec, name: 'agent' },
      {
        previousNames: ['bot'],
      },
    );
    expect(summary(server.plan(setOf([workspace, renamed])))).toEqual([
      {
        action: 'update',
        id: 'ApiKey/support/agent',
        reason: 'rename',
        fields: [['/name', 'bot', 'agent']],
      },
    ]);
    applied(workspace, renamed);
    expect(server.find('ApiKey/support/agent').id).toBe(id);
    expect(server.plan(setOf([workspace, renamed])).changes).toEqual([]);
  });

  it('carries the contents along when a workspace is renamed', () => {
    const config = want('Config', 'support/routing', { config: {} });
    const bound = key({ defaults: { config_id: { $ref: 'Config/support/routing' } } });
    applied(workspace, config, bound);
    const ids = server.resources.map((resource) => resource.id);
    const moved = setOf([
      want('Workspace', 'help', {}, { previousNames: ['support'] }),
      want('Config', 'help/routing', { config: {} }),
      want('ApiKey', 'help/bot', {
        ...bound.spec,
        workspace_id: { $ref: 'Workspace/help' },
        defaults: { config_id: { $ref: 'Config/help/routing' } },
      }),
    ]);
    const plan = server.plan(moved);
    expect(plan.changes.map(({ action, reason }) => [action, reason])).toEqual([
      ['update', 'rename'],
      ['update', 'rename'],
      ['update', 'rename'],
    ]);
    server.apply(plan);
    expect(server.resources.map((resource) => resource.id)).toEqual(ids);
    expect(server.plan(moved).changes).toEqual([]);
  });
});

describe('comparison', () => {
  it('compares lists without order as sets, and others in order', () => {
    applied(workspace, key({ scopes: ['logs.view', 'mcp.invoke'] }));
    const turned = setOf([workspace, key({ scopes: ['mcp.invoke', 'logs.view'] })]);
    expect(server.plan(turned).changes).toEqual([]);
    const checks = [{ id: 'a' }, { id: 'b' }];
    applied(workspace, want('Guardrail', 'support/g', { checks }));
    const plan = server.plan(
      setOf([workspace, want('Guardrail', 'support/g', { checks: checks.toReversed() })]),
    );
    expect(plan.changes.find(({ id }) => id === 'Guardrail/support/g')?.fields).toHaveLength(2);
  });

  it.each([
    [
      'a time in another format',
      { expires_at: '2027-03-31T00:00:00Z' },
      '2027-03-31T00:00:00.000Z',
    ],
    [
      'a time in another zone',
      { expires_at: '2027-03-31T02:00:00+02:00' },
      '2027-03-31T00:00:00.000Z',
    ],
  ])('finds no difference in %s', (_, fields, stored) => {
    applied(workspace, key(fields));
    server.find('ApiKey/support/bot').spec.expires_at = stored;
    expect(server.plan(setOf([workspace, key(fields)])).changes).toEqual([]);
  });

  it.each([[null], [[]], [{}]])('treats %j as unset', (empty) => {
    applied(workspace, key({ alert_emails: empty, usage_limits: empty }));
    delete server.find('ApiKey/support/bot').spec.alert_emails;
    server.find('ApiKey/support/bot').spec.usage_limits = null;
    expect(
      server.plan(setOf([workspace, key({ alert_emails: empty, usage_limits: empty })])).changes,
    ).toEqual([]);
  });

  it('owns a verbatim document completely: a key added by hand is drift', () => {
    const config = want('Config', 'support/routing', { config: { retry: { attempts: 2 } } });
    applied(workspace, config);
    server.find('Config/support/routing').spec.config = { retry: { attempts: 2 }, cache: {} };
    expect(summary(server.plan(setOf([workspace, config])))).toEqual([
      {
        action: 'update',
        id: 'Config/support/routing',
        reason: 'drift',
        fields: [['/config/cache', {}, null]],
      },
    ]);
    applied(workspace, config);
    expect(server.find('Config/support/routing').spec.config).toEqual({
      retry: { attempts: 2 },
    });
  });

  it('treats a literal id or slug as the resource it names', () => {
    applied(workspace, want('Config', 'support/routing', { config: {} }));
    const { id } = server.find('Config/support/routing');
    const literal = setOf([
      workspace,
      want('Config', 'support/routing', { config: {} }),
      key({ defaults: { config_id: id } }),
    ]);
    server.apply(server.plan(literal));
    expect(server.plan(literal).changes).toEqual([]);
  });

  it('compares secrets by fingerprint and never holds a value', () => {
    const integration = (value: string) =>
      want(
        'McpIntegration',
        'support/crm',
        {
          url: 'https://crm.example.com',
          auth_type: 'headers',
          transport: 'http',
          configurations: {
            custom_headers: { Authorization: { $secret: 'env:CRM', fingerprint: '' } },
          },
        },
        { secrets: { '/configurations/custom_headers/Authorization': value } },
      );
    applied(workspace, integration('canary-one'));
    expect(server.plan(setOf([workspace, integration('canary-one')])).changes).toEqual([]);
    const plan = server.plan(setOf([workspace, integration('canary-two')]));
    expect(summary(plan)).toEqual([
      {
        action: 'update',
        id: 'McpIntegration/support/crm',
        reason: 'change',
        fields: [
          [
            '/configurations/custom_headers/Authorization',
            { $secret: 'server', fingerprint: '' },
            { $secret: 'env:CRM', fingerprint: '' },
          ],
        ],
      },
    ]);
    expect(JSON.stringify(plan)).not.toContain('canary');
    server.apply(plan);
    const stored = server.find('McpIntegration/support/crm');
    stored.spec.configurations = { custom_headers: { Authorization: 'rotated outside' } };
    expect(server.plan(setOf([workspace, integration('canary-two')])).changes[0]?.reason).toBe(
      'drift',
    );
  });
});

describe('purity', () => {
  it('changes neither side', () => {
    applied(workspace, key());
    const live = server.live();
    const desired = setOf([workspace, key({ description: 'new' })]);
    const before = JSON.stringify([live, desired]);
    makePlan(desired, live, { owner, takeOwnership: false, prune: true, now: 0 });
    expect(JSON.stringify([live, desired])).toBe(before);
  });
});
