/** Guarantees which changes of each kind are marked as loosening access, and which are not. */
import { describe, expect, it } from 'vitest';
import { type KindName, kindNames } from '../../src/model/kinds.ts';
import type { Json, Spec } from '../../src/sync/spec/resource-set.ts';
import { planOf } from '../plan-of.ts';

/** What is done, the spec before and after, and the places that are marked. */
type Case = readonly [what: string, before: Spec, after: Spec, marked: readonly string[]];

const rate = (value: number, unit = 'rpm'): Json => [{ type: 'requests', unit, value }];
const check = (parameters: Spec, id = 'default.contains', more: Spec = {}): Json[] => [
  { id, parameters, ...more },
];
const disabled = (name: string): Spec => ({ type: 'tool', name });
const condition = (value: Json, more: Spec = {}): Spec => ({
  conditions: [{ key: 'model', value, ...more }],
});

const cases: Readonly<Record<KindName, readonly Case[]>> = {
  Workspace: [
    [
      'a rate limit raised',
      { rate_limits: rate(1) },
      { rate_limits: rate(2) },
      ['/rate_limits/0/value'],
    ],
    ['a rate limit lowered', { rate_limits: rate(2) }, { rate_limits: rate(1) }, []],
    ['a rate limit removed', { rate_limits: rate(2) }, {}, ['/rate_limits']],
    [
      'a rate limit of another unit',
      { rate_limits: rate(2) },
      { rate_limits: rate(2, 'rps') },
      ['/rate_limits/0'],
    ],
    ['a rate limit added', {}, { rate_limits: rate(2) }, []],
    [
      'a budget raised that starts anew sooner',
      { usage_limits: [{ credit_limit: 5, periodic_reset: 'monthly' }] },
      { usage_limits: [{ credit_limit: 6, periodic_reset: 'weekly' }] },
      ['/usage_limits/0/credit_limit', '/usage_limits/0/periodic_reset'],
    ],
    ['a text', { description: 'a' }, { description: 'b' }, []],
  ],
  ApiKey: [
    ['a scope added', { scopes: ['a'] }, { scopes: ['b', 'a'] }, ['/scopes/0']],
    ['a scope removed', { scopes: ['a', 'b'] }, { scopes: ['b'] }, []],
    ['scopes in another order', { scopes: ['a', 'b'] }, { scopes: ['b', 'a'] }, []],
    [
      'a later expiry',
      { expires_at: '2027-01-01T00:00:00Z' },
      { expires_at: '2027-01-02T00:00:00Z' },
      ['/expires_at'],
    ],
    [
      'an earlier expiry',
      { expires_at: '2027-01-02T00:00:00Z' },
      { expires_at: '2027-01-01T00:00:00Z' },
      [],
    ],
    ['an expiry removed', { expires_at: '2027-01-02T00:00:00Z' }, {}, ['/expires_at']],
    ['an expiry added', {}, { expires_at: '2027-01-02T00:00:00Z' }, []],
    ['a budget removed', { usage_limits: { credit_limit: 5 } }, {}, ['/usage_limits']],
    [
      'a budget cleared',
      { usage_limits: { credit_limit: 5 } },
      { usage_limits: null },
      ['/usage_limits'],
    ],
    [
      'a budget counted in something else',
      { usage_limits: { type: 'cost', credit_limit: 5 } },
      { usage_limits: { type: 'tokens', credit_limit: 5 } },
      ['/usage_limits/type'],
    ],
    [
      'the override no longer forbidden',
      { defaults: { allow_config_override: false } },
      { defaults: {} },
      ['/defaults/allow_config_override'],
    ],
    ['the config removed', { defaults: { config_id: 'x' } }, {}, ['/defaults/config_id']],
    [
      'the override forbidden',
      { defaults: { allow_config_override: true } },
      { defaults: { allow_config_override: false } },
      [],
    ],
    [
      'a longer period of rotation',
      { rotation_policy: { rotation_period_days: 7 } },
      { rotation_policy: { rotation_period_days: 30 } },
      ['/rotation_policy/rotation_period_days'],
    ],
    ['an organisation key', { type: 'workspace' }, { type: 'organisation' }, ['/type']],
    ['addresses of alerts', { alert_emails: ['a'] }, { alert_emails: ['b'] }, []],
  ],
  Guardrail: [
    [
      'a check removed',
      { checks: [{ id: 'a' }, { id: 'b' }] },
      { checks: [{ id: 'b' }] },
      ['/checks/0'],
    ],
    [
      'a check added',
      { checks: [{ id: 'a' }] },
      { checks: [{ id: 'b', is_enabled: false }, { id: 'a' }] },
      [],
    ],
    [
      'a check that is another',
      { checks: [{ id: 'a' }] },
      { checks: [{ id: 'b' }] },
      ['/checks/0'],
    ],
    [
      'checks in another order',
      { checks: [{ id: 'a' }, { id: 'b' }] },
      { checks: [{ id: 'b' }, { id: 'a' }] },
      [],
    ],
    [
      'a check disabled',
      { checks: [{ id: 'a' }] },
      { checks: [{ id: 'a', is_enabled: false }] },
      ['/checks/0/is_enabled'],
    ],
    [
      'deny no longer',
      { actions: { deny: true } },
      { actions: { deny: false } },
      ['/actions/deny'],
    ],
    [
      'deny left out',
      { actions: { deny: true, async: false } },
      { actions: { async: false } },
      ['/actions/deny'],
    ],
    ['actions left out', { actions: { deny: true } }, {}, ['/actions']],
    ['deny from now on', { actions: { deny: false } }, { actions: { deny: true } }, []],
    [
      'async',
      { actions: { deny: true } },
      { actions: { deny: true, async: true } },
      ['/actions/async'],
    ],
    [
      'a refused word removed',
      { checks: check({ words: ['a', 'b'], operator: 'none' }) },
      { checks: check({ words: ['b'], operator: 'none' }) },
      ['/checks/0/parameters/words/0'],
    ],
    [
      'a refused word added',
      { checks: check({ words: ['b'], operator: 'none' }) },
      { checks: check({ words: ['a', 'b'], operator: 'none' }) },
      [],
    ],
    [
      'one of the wanted words added',
      { checks: check({ words: ['b'], operator: 'any' }) },
      { checks: check({ words: ['a', 'b'], operator: 'any' }) },
      ['/checks/0/parameters/words/0'],
    ],
    [
      'the meaning of words turned',
      { checks: check({ words: ['b'], operator: 'none' }) },
      { checks: check({ words: ['b'], operator: 'any' }) },
      ['/checks/0/parameters/operator'],
    ],
    [
      'an allowed model added',
      { checks: check({ models: ['b'] }, 'default.modelwhitelist') },
      { checks: check({ models: ['b', 'c'] }, 'default.modelwhitelist') },
      ['/checks/0/parameters/models/1'],
    ],
    [
      'an allowed model removed from a list turned round',
      { checks: check({ models: ['b', 'c'], not: true }, 'default.modelwhitelist') },
      { checks: check({ models: ['b'], not: true }, 'default.modelwhitelist') },
      ['/checks/0/parameters/models/1'],
    ],
    [
      'allowed types no longer named',
      { checks: check({ allowedTypes: ['b'] }) },
      { checks: check({}) },
      ['/checks/0/parameters'],
    ],
    [
      'bounds',
      { checks: check({ minWords: 2, maxWords: 5 }) },
      { checks: check({ minWords: 1, maxWords: 4 }) },
      ['/checks/0/parameters/minWords'],
    ],
    [
      'a parameter that cannot be judged',
      { checks: check({ rule: 'a' }, 'default.regexMatch') },
      { checks: check({ rule: 'b' }, 'default.regexMatch') },
      ['/checks/0/parameters/rule'],
    ],
  ],
  Config: [
    [
      'a guardrail of a target removed',
      { config: { targets: [{ provider: 'a', input_guardrails: ['g'] }] } },
      { config: { targets: [{ provider: 'a' }] } },
      ['/config/targets/0/input_guardrails'],
    ],
    [
      'one of two guardrails removed',
      { config: { input_guardrails: ['g', 'h'] } },
      { config: { input_guardrails: ['h'] } },
      ['/config/input_guardrails/0'],
    ],
    [
      'a guardrail added',
      { config: { input_guardrails: ['g'] } },
      { config: { input_guardrails: ['g', 'h'] } },
      [],
    ],
    [
      'deny in a guardrail of its own',
      { config: { output_guardrails: [{ id: 'x', deny: true }] } },
      { config: { output_guardrails: [{ id: 'x', deny: false }] } },
      ['/config/output_guardrails/0/deny'],
    ],
    [
      'a hook removed',
      { config: { before_request_hooks: [{ id: 'x' }], retry: {} } },
      { config: { retry: {} } },
      ['/config/before_request_hooks'],
    ],
    [
      'a forwarded header',
      { config: { forward_headers: ['a'] } },
      { config: { forward_headers: ['a', 'b'] } },
      ['/config/forward_headers/1'],
    ],
    [
      'a target with its guardrail removed',
      { config: { targets: [{ name: 'a', input_guardrails: ['g'] }, { name: 'b' }] } },
      { config: { targets: [{ name: 'b' }] } },
      [],
    ],
    [
      'weights',
      { config: { targets: [{ provider: 'a', weight: 1 }] } },
      { config: { targets: [{ provider: 'a', weight: 2 }] } },
      [],
    ],
    [
      'more tokens',
      { config: { override_params: { max_tokens: 1, model: 'a' } } },
      { config: { override_params: { model: 'a' } } },
      ['/config/override_params/max_tokens'],
    ],
  ],
  SecretReference: [
    [
      'a workspace more',
      { allowed_workspaces: ['a'] },
      { allowed_workspaces: ['a', 'b'] },
      ['/allowed_workspaces/1'],
    ],
    ['a workspace less', { allowed_workspaces: ['a', 'b'] }, { allowed_workspaces: ['a'] }, []],
    [
      'every workspace',
      { allow_all_workspaces: false, allowed_workspaces: ['a'] },
      { allow_all_workspaces: true },
      ['/allow_all_workspaces', '/allowed_workspaces'],
    ],
    ['some workspaces', {}, { allowed_workspaces: ['a'] }, []],
  ],
  McpIntegration: [
    ['no credentials', { auth_type: 'headers' }, { auth_type: 'none' }, ['/auth_type']],
    [
      'a header passed through',
      { configurations: { passthrough_headers: { a: 'b' } } },
      { configurations: { passthrough_headers: { a: 'b', c: 'd' } } },
      ['/configurations/passthrough_headers/c'],
    ],
    ['for the organisation', { workspace_id: 'w' }, {}, ['/workspace_id']],
    ['another address', { url: 'https://a' }, { url: 'https://b' }, []],
  ],
  McpServer: [
    ['a text', { description: 'a' }, { description: 'b' }, []],
    ['opened to everyone', { default_user_access: 'deny' }, {}, ['/default_user_access']],
    ['closed to everyone', {}, { default_user_access: 'deny' }, []],
    [
      'a user let in',
      { user_access: [{ user_id: 'a', enabled: false }] },
      { user_access: [{ user_id: 'a', enabled: true }] },
      ['/user_access/0', '/user_access/0'],
    ],
    [
      'a capability no longer disabled',
      { disabled_capabilities: [disabled('a'), disabled('b')] },
      { disabled_capabilities: [disabled('b')] },
      ['/disabled_capabilities/0'],
    ],
    [
      'a capability disabled',
      { disabled_capabilities: [disabled('a')] },
      { disabled_capabilities: [disabled('b'), disabled('a')] },
      [],
    ],
  ],
  GuardrailMcpBinding: [
    ['one moment less', { run_on: ['input', 'output'] }, { run_on: ['input'] }, ['/run_on/1']],
    ['one moment where there were both', {}, { run_on: ['input'] }, ['/run_on']],
    ['both moments by being left out', { run_on: ['input'] }, {}, []],
    ['the same moment by another word', { run_on: ['input'] }, { run_on: ['beforeToolCall'] }, []],
    [
      'one capability of all',
      {},
      { mcp_integration_capability_ids: ['a'] },
      ['/mcp_integration_capability_ids'],
    ],
    [
      'one capability more',
      { mcp_integration_capability_ids: ['a'] },
      { mcp_integration_capability_ids: ['a', 'b'] },
      [],
    ],
    ['another server', { mcp_server_id: 'a' }, { mcp_server_id: 'b' }, ['/mcp_server_id']],
  ],
  UsageLimitPolicy: [
    ['a budget raised', { credit_limit: 1 }, { credit_limit: 2 }, ['/credit_limit']],
    [
      'a condition more',
      condition('a'),
      {
        conditions: [
          { key: 'model', value: 'a' },
          { key: 'api_key', value: 'b' },
        ],
      },
      ['/conditions/1'],
    ],
    [
      'a condition less',
      {
        conditions: [
          { key: 'model', value: 'a' },
          { key: 'api_key', value: 'b' },
        ],
      },
      condition('a'),
      [],
    ],
    ['a condition changed', condition('a'), condition('b'), ['/conditions/0/value']],
    [
      'a value left out',
      condition('*'),
      condition('*', { excludes: 'a' }),
      ['/conditions/0/excludes'],
    ],
    [
      'one more group',
      { group_by: [{ key: 'a' }] },
      { group_by: [{ key: 'a' }, { key: 'b' }] },
      ['/group_by/1'],
    ],
    [
      'days between resets',
      { periodic_reset_days: 7 },
      { periodic_reset_days: 3 },
      ['/periodic_reset_days'],
    ],
  ],
  RateLimitPolicy: [
    ['more allowed', { value: 1 }, { value: 2 }, ['/value']],
    ['less allowed', { value: 2 }, { value: 1 }, []],
    ['another time', { unit: 'rpm' }, { unit: 'rps' }, ['/unit']],
    ['something else counted', { type: 'tokens' }, { type: 'requests' }, ['/type']],
    ['a condition changed', condition('a'), condition('b'), ['/conditions/0/value']],
    [
      'one more group',
      { group_by: [{ key: 'a' }] },
      { group_by: [{ key: 'a' }, { key: 'b' }] },
      ['/group_by/1'],
    ],
    ['a text', { description: 'a' }, { description: 'b' }, []],
  ],
  Integration: [
    [
      'all models allowed',
      { allow_all_models: false },
      { allow_all_models: true },
      ['/allow_all_models'],
    ],
    ['models no longer allowed', { allow_all_models: true }, { allow_all_models: false }, []],
    [
      'a model enabled, and one no longer disabled',
      { models: [{ slug: 'a', enabled: false }] },
      { models: [{ slug: 'b', enabled: true }] },
      ['/models/0', '/models/0'],
    ],
    [
      'a model disabled',
      { models: [{ slug: 'a', enabled: true }] },
      { models: [{ slug: 'a', enabled: false }] },
      [],
    ],
    [
      'every workspace let in',
      { global_workspace_access: { enabled: false } },
      { global_workspace_access: { enabled: true } },
      ['/global_workspace_access/enabled'],
    ],
    ['a workspace let in', {}, { workspaces: [{ id: 'w', enabled: true }] }, ['/workspaces']],
    ['a workspace kept out', {}, { workspaces: [{ id: 'w', enabled: false }] }, []],
    [
      'another address',
      { configurations: { custom_host: 'https://a.example.com' } },
      { configurations: { custom_host: 'https://b.example.com' } },
      ['/configurations/custom_host'],
    ],
    ['a text', { description: 'a' }, { description: 'b' }, []],
  ],
  Provider: [
    [
      'a budget raised',
      { usage_limits: { credit_limit: 5 } },
      { usage_limits: { credit_limit: 6 } },
      ['/usage_limits/credit_limit'],
    ],
    ['a rate limit raised', { rate_limits: rate(1) }, { rate_limits: rate(2) }, ['/rate_limits/0']],
    ['an expiry removed', { expires_at: '2027-01-02T00:00:00Z' }, {}, ['/expires_at']],
    ['a text', { note: 'a' }, { note: 'b' }, []],
  ],
  PromptLabel: [['a text', { description: 'a' }, { description: 'b' }, []]],
  PromptCollection: [['a name', { name: 'a' }, { name: 'b' }, []]],
  PromptPartial: [['a template', { string: 'a' }, { string: 'b' }, []]],
  Prompt: [
    [
      'longer answers',
      { parameters: { max_tokens: 5 } },
      { parameters: { max_tokens: 6 } },
      ['/parameters/max_tokens'],
    ],
    ['another template', { string: 'a' }, { string: 'b' }, []],
  ],
};

describe.each(kindNames.map((kind) => [kind]))('%s', (kind) => {
  it.each(cases[kind].map((one) => [one[0], one] as const))(
    '%s',
    (_, [, before, after, marked]) => {
      const [change] = planOf(kind, before, after).changes;
      const loose = change?.fields.filter(({ loosens }) => loosens).map(({ path }) => path) ?? [];
      expect(loose.map((path) => marked.find((one) => path.startsWith(one)) ?? path)).toEqual(
        marked,
      );
      expect(change?.loosens ?? false).toBe(marked.length > 0);
    },
  );

  it('created and deleted', () => {
    const creating = planOf(kind, null, { name: 'a' }).changes.map(({ loosens }) => loosens);
    const deleting = planOf(kind, { name: 'a' }, null).changes.map(({ loosens }) => loosens);
    expect(creating).toEqual([['ApiKey', 'McpServer', 'Provider'].includes(kind)]);
    const policies = ['UsageLimitPolicy', 'RateLimitPolicy'];
    const guarding = ['Guardrail', 'GuardrailMcpBinding', ...policies];
    expect(deleting).toEqual([guarding.includes(kind)]);
  });
});
