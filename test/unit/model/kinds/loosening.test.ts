/** Tests which changes of each kind are marked as loosening access. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type KindName, kindNames } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import { defaultGuardrailFields } from '../../../../src/model/manifests/kind-references.ts';
import { matchesPattern } from '../../../../src/model/manifests/path-patterns.ts';
import { effectiveSettings } from '../../../../src/model/workspaces/security-settings.ts';
import { leafValues } from '../../../../src/sync/diff/leaf-values.ts';
import type { Spec, SpecJson } from '../../../../src/sync/resources/resource-set.ts';
import { segmentsOf } from '../../../../src/sync/resources/spec-paths.ts';
import { planOf } from '../../../support/sync/plan-of.ts';

/** A description, the spec before and after, and the marked paths. */
type Case = readonly [what: string, before: Spec, after: Spec, marked: readonly string[]];

const rate = (value: number, unit = 'rpm'): SpecJson => [{ type: 'requests', unit, value }];
const check = (parameters: Spec, id = 'default.contains', more: Spec = {}): SpecJson[] => [
  { id, parameters, ...more },
];
const disabled = (name: string): Spec => ({ type: 'tool', name });
const condition = (value: SpecJson, more: Spec = {}): Spec => ({
  conditions: [{ key: 'model', value, ...more }],
});

/** Budgets that allow more in each possible way; `at` is their path. */
function budgets(at: string, inSpec: (budget: Spec) => Spec): readonly Case[] {
  const both = (what: string, before: Spec, after: Spec, field: string): Case => [
    `a budget ${what}`,
    inSpec(before),
    inSpec(after),
    [`${at}/${field}`],
  ];
  const limit = { credit_limit: 5 };
  const [early, late] = ['2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z'];
  const [cost, tokens] = [inSpec({ ...limit, type: 'cost' }), inSpec({ ...limit, type: 'tokens' })];
  return [
    // In a list it is another budget.
    ['a budget of something else', cost, tokens, [at.endsWith('/0') ? at : `${at}/type`]],
    both('raised', limit, { credit_limit: 6 }, 'credit_limit'),
    both(
      'with an allowance for outages',
      limit,
      { ...limit, on_outage_allowance: 1 },
      'on_outage_allowance',
    ),
    both('that starts anew', limit, { ...limit, periodic_reset: 'monthly' }, 'periodic_reset'),
    both(
      'that starts anew after fewer days',
      { periodic_reset_days: 7 },
      { periodic_reset_days: 3 },
      'periodic_reset_days',
    ),
    both(
      'that starts anew sooner',
      { next_usage_reset_at: late },
      { next_usage_reset_at: early },
      'next_usage_reset_at',
    ),
  ];
}

const prices = (request: number, response: number): Spec => ({
  pay_as_you_go: { request_token: { price: request }, response_token: { price: response } },
});

/** Twice the value of everything that has a factor. */
const factors: Spec = {
  ...Object.fromEntries(
    (await placesOf('Integration'))
      .map((place) => place.split('.'))
      .filter(([field, , , below]) => field === 'pricing_adjustments' && below === undefined)
      .map(([, , name]) => [name!, 2]),
  ),
  image: { default: 2 },
  additional_units: { searches: 2 },
};

/** Scopes that nothing can withhold. */
const fixed = [
  'membersViewLogMetadata',
  'managersViewLogMetadata',
  'organisationAdminsViewLogs',
  'organisationAdminsViewLogMetadata',
];
const usualSettings = Object.entries(effectiveSettings(null)).filter(
  ([name]) => !fixed.includes(name),
);

/** Cases for each setting of what members of a workspace see and write, by its default. */
const sights = usualSettings.flatMap(([name, isUsual]): readonly Case[] => {
  const says = (value: boolean): Spec => ({ security_settings: { [name]: value } });
  const where = '/security_settings';
  return [
    [`${name} from now on`, says(false), says(true), [`${where}/${name}`]],
    [`${name} no longer`, says(true), says(false), []],
    [`${name} as is usual`, says(!isUsual), {}, isUsual ? [where] : []],
    [`${name}, of which nothing was said`, {}, says(true), isUsual ? [] : [where]],
  ];
});

const guardrailsOfSides = [...defaultGuardrailFields].flatMap((side): readonly Case[] => [
  ['a guardrail less', { [side]: ['a', 'b'] }, { [side]: ['b'] }, [`/${side}/0`]],
  ['a guardrail more', { [side]: ['a'] }, { [side]: ['a', 'b'] }, []],
  ['none', { [side]: ['a'] }, {}, [`/${side}`]],
]);

/** All members of `jwt_validation`, with values that contain `word`. */
function tokenRules(word: string) {
  return {
    jwksUri: `https://${word}.example.com`,
    jwks: { keys: word },
    introspectEndpoint: `https://${word}.example.com`,
    headerKey: word,
    cacheMaxAge: word.charCodeAt(0),
    clockTolerance: word.charCodeAt(0),
    maxTokenAge: word,
    algorithms: [word],
    requiredClaims: [word],
    claimValues: { team: { values: word, matchType: word } },
    timeout: word,
  };
}

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
      'another config once more',
      { defaults: { allow_config_override: false } },
      { defaults: { allow_config_override: true } },
      ['/defaults/allow_config_override'],
    ],
    [
      'a rate limit of another unit',
      { rate_limits: rate(2) },
      { rate_limits: rate(2, 'rps') },
      ['/rate_limits/0'],
    ],
    ['a rate limit added', {}, { rate_limits: rate(2) }, []],
    [
      'a budget raised that starts anew sooner',
      { usage_limits: { credit_limit: 5, periodic_reset: 'monthly' } },
      { usage_limits: { credit_limit: 6, periodic_reset: 'weekly' } },
      ['/usage_limits/credit_limit', '/usage_limits/periodic_reset'],
    ],
    ['a text', { description: 'a' }, { description: 'b' }, []],
    ...budgets('/usage_limits', (budget) => ({ usage_limits: budget })),
    ...sights,
    [
      'keys for new members',
      {},
      { settings: { user_api_key_auto_create: true, user_api_key_auto_create_scopes: ['a'] } },
      ['/settings', '/settings'],
    ],
    [
      'no keys for new members',
      { settings: { user_api_key_auto_create: true, user_api_key_auto_create_scopes: ['a'] } },
      { settings: { user_api_key_auto_create: false, user_api_key_auto_create_scopes: ['a'] } },
      [],
    ],
    [
      'more keys that live longer, and a field more in exports',
      {
        settings: {
          user_api_keys_max: 1,
          api_key_max_ttl_days: 7,
          export_settings: { deniedFields: ['request', 'response'] },
        },
      },
      {
        settings: {
          user_api_keys_max: 2,
          api_key_max_ttl_days: 8,
          export_settings: { deniedFields: ['response'] },
        },
      },
      [
        '/settings/api_key_max_ttl_days',
        '/settings/export_settings/deniedFields/0',
        '/settings/user_api_keys_max',
      ],
    ],
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
    ...budgets('/usage_limits', (usage_limits) => ({ usage_limits })),
    ['a rate limit raised', { rate_limits: rate(1) }, { rate_limits: rate(2) }, ['/rate_limits/0']],
    ['for another person', { user_id: 'a' }, { user_id: 'b' }, ['/user_id']],
    ['out of its workspace', { workspace_id: 'w' }, {}, ['/workspace_id']],
    [
      'rotated later, with a longer overlap',
      {
        rotation_policy: {
          next_rotation_at: '2027-01-01T00:00:00Z',
          key_transition_period_ms: 1,
          rotation_period: 'weekly',
        },
      },
      {
        rotation_policy: {
          next_rotation_at: '2027-01-02T00:00:00Z',
          key_transition_period_ms: 2,
          rotation_period: 'monthly',
        },
      },
      [
        '/rotation_policy/key_transition_period_ms',
        '/rotation_policy/next_rotation_at',
        '/rotation_policy/rotation_period',
      ],
    ],
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
    [
      'mode monitor',
      { actions: { deny: true } },
      { actions: { deny: true, mode: 'monitor' } },
      ['/actions/mode'],
    ],
    [
      'what cannot be judged',
      { actions: { on_unsupported: 'deny', fail_closed: true } },
      { actions: { on_unsupported: 'pass', fail_closed: false } },
      ['/actions/fail_closed', '/actions/on_unsupported'],
    ],
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
    ['on something else', { target: 'llm' }, { target: 'mcp_tools' }, ['/target']],
    ['for one workspace', {}, { workspace_id: 'w' }, ['/workspace_id']],
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
      ['/allow_all_workspaces'],
    ],
    ['a first workspace', {}, { allowed_workspaces: ['a'] }, ['/allowed_workspaces']],
    [
      'a host more',
      { allowed_hosts: ['a.example'] },
      { allowed_hosts: ['a.example', 'b.example'] },
      ['/allowed_hosts/1'],
    ],
  ],
  McpIntegration: [
    ['no credentials', { auth_type: 'headers' }, { auth_type: 'none' }, ['/auth_type']],
    [
      'a header passed through',
      { configurations: { passthrough_headers: { a: 'b' } } },
      { configurations: { passthrough_headers: { a: 'b', c: 'd' } } },
      ['/configurations/passthrough_headers/c'],
    ],
    [
      'a header of the caller forwarded',
      { configurations: { forward_headers: ['a'] } },
      { configurations: { forward_headers: ['a', 'b'] } },
      ['/configurations/forward_headers/1'],
    ],
    [
      'all headers of the caller but some forwarded',
      { configurations: { forward_headers: { mode: 'allowlist', headers: ['a'] } } },
      { configurations: { forward_headers: { mode: 'all-except', headers: ['a'] } } },
      ['/configurations/forward_headers/mode'],
    ],
    [
      'an exception of forwarding less',
      { configurations: { forward_headers: { mode: 'all-except', headers: ['a', 'b'] } } },
      { configurations: { forward_headers: { mode: 'all-except', headers: ['a'] } } },
      ['/configurations/forward_headers/headers/1'],
    ],
    [
      'a header forwarded from and to other names',
      {
        configurations: {
          forward_headers: { mode: 'allowlist', headers: [{ from: 'a', to: 'b' }] },
        },
      },
      {
        configurations: {
          forward_headers: { mode: 'allowlist', headers: [{ from: 'c', to: 'd' }] },
        },
      },
      [
        '/configurations/forward_headers/headers/0/from',
        '/configurations/forward_headers/headers/0/to',
      ],
    ],
    [
      'users named to the server, with a claim more',
      { configurations: { user_identity_forwarding: { method: 'jwt_header' } } },
      {
        configurations: {
          user_identity_forwarding: { method: 'claims_header', include_claims: ['email'] },
        },
      },
      [
        '/configurations/user_identity_forwarding/include_claims',
        '/configurations/user_identity_forwarding/method',
      ],
    ],
    ['for the organisation', { workspace_id: 'w' }, {}, ['/workspace_id']],
    [
      'tokens by other rules',
      { configurations: { jwt_validation: tokenRules('a') } },
      { configurations: { jwt_validation: tokenRules('b') } },
      Array<string>(12).fill('/configurations/jwt_validation'),
    ],
    [
      'a further key set for tokens',
      { configurations: { jwt_validation: { jwksUri: 'https://a.example.com' } } },
      {
        configurations: {
          jwt_validation: { jwksUri: 'https://a.example.com', jwks: '{"keys": []}' },
        },
      },
      ['/configurations/jwt_validation/jwks'],
    ],
    [
      'tokens of another provider, or for another audience',
      {
        configurations: {
          external_auth_config: { issuer: 'a', scope: 'a', audience: 'a', client_id: 'a' },
        },
      },
      {
        configurations: {
          external_auth_config: { issuer: 'b', scope: 'b', audience: 'b', client_id: 'b' },
        },
      },
      Array<string>(4).fill('/configurations/external_auth_config'),
    ],
    [
      'without rules for tokens',
      { configurations: { forward_headers: ['a'], jwt_validation: tokenRules('a') } },
      { configurations: { forward_headers: ['a'] } },
      ['/configurations/jwt_validation'],
    ],
    [
      'a header passed through under the other name',
      {},
      { configurations: { passthrough_header: { a: 'b' } } },
      ['/configurations'],
    ],
    [
      'a tool no longer disabled, but a prompt of its name',
      { disabled_capabilities: [disabled('a')] },
      { disabled_capabilities: [{ type: 'prompt', name: 'a' }] },
      ['/disabled_capabilities/0'],
    ],
    [
      'every workspace let in',
      { global_workspace_access: { enabled: false } },
      {},
      ['/global_workspace_access'],
    ],
    ['a workspace let in', {}, { workspaces: [{ id: 'w', enabled: true }] }, ['/workspaces']],
    ['another address', { url: 'https://a' }, { url: 'https://b' }, []],
    [
      'another approved definition',
      { approved_definitions: [{ type: 'tool', name: 'a', digest: 'x' }] },
      { approved_definitions: [{ type: 'tool', name: 'a', digest: 'y' }] },
      ['/approved_definitions/0/digest'],
    ],
    [
      'one approved definition more, and one less',
      { approved_definitions: [{ type: 'tool', name: 'a', digest: 'x' }] },
      { approved_definitions: [{ type: 'prompt', name: 'b', digest: 'y' }] },
      ['/approved_definitions/0'],
    ],
    [
      'sampling permitted',
      { disabled_client_capabilities: ['roots', 'sampling'] },
      { disabled_client_capabilities: ['roots'] },
      ['/disabled_client_capabilities/1'],
    ],
    ['definitions hidden no more', { definition_policy: 'hide' }, {}, ['/definition_policy']],
    ['definitions blocked', { definition_policy: 'hide' }, { definition_policy: 'block' }, []],
  ],
  McpServer: [
    [
      'definitions hidden in place of blocked',
      { definition_policy: 'block' },
      { definition_policy: 'hide' },
      ['/definition_policy'],
    ],
    [
      'roots permitted at the server',
      { disabled_client_capabilities: ['roots'] },
      {},
      ['/disabled_client_capabilities'],
    ],
    ['definitions observed as by default', { definition_policy: 'observe' }, {}, []],
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
    ['another guardrail', { guardrail_id: 'a' }, { guardrail_id: 'b' }, ['/guardrail_id']],
    ['another server', { mcp_server_id: 'a' }, { mcp_server_id: 'b' }, ['/mcp_server_id']],
  ],
  UsageLimitPolicy: [
    ...budgets('', (budget) => budget),
    ['in another workspace', { workspace_id: 'a' }, { workspace_id: 'b' }, ['/workspace_id']],
    [
      'of other keys',
      condition('a'),
      { conditions: [{ key: 'b', value: 'a' }] },
      ['/conditions/0'],
    ],
    ['several values', condition(['a', 'b']), condition(['a']), ['/conditions/0/value/1']],
    [
      'several values left out',
      condition('*', { excludes: ['a'] }),
      condition('*', { excludes: ['a', 'b'] }),
      ['/conditions/0/excludes/1'],
    ],
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
    ['in another workspace', { workspace_id: 'a' }, { workspace_id: 'b' }, ['/workspace_id']],
    [
      'of other keys',
      condition('a'),
      { conditions: [{ key: 'b', value: 'a' }] },
      ['/conditions/0'],
    ],
    ['of something else', { target: 'llm' }, { target: 'mcp' }, ['/target']],
    [
      'several values, and some left out',
      condition(['a', 'b'], { excludes: ['c'] }),
      condition(['a'], { excludes: 'c' }),
      ['/conditions/0/excludes', '/conditions/0/value/1'],
    ],
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
    ...budgets('/global_workspace_access/usage_limits', (budget) => ({
      global_workspace_access: { enabled: true, usage_limits: budget },
    })),
    [
      'no limit of every workspace any more',
      {
        global_workspace_access: {
          enabled: true,
          rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
        },
      },
      { global_workspace_access: { enabled: true } },
      ['/global_workspace_access/rate_limits'],
    ],
    [
      'a workspace that may use more',
      {
        workspaces: [
          { id: 'w', enabled: true, rate_limits: rate(1), usage_limits: { credit_limit: 1 } },
        ],
      },
      { workspaces: [{ id: 'w', enabled: true, rate_limits: rate(2) }] },
      ['/workspaces/0/rate_limits/0/value', '/workspaces/0/usage_limits'],
    ],
    ...budgets('/workspaces/0/usage_limits', (budget) => ({
      workspaces: [{ id: 'w', usage_limits: budget }],
    })),
    ['out of its workspace', { workspace_id: 'w' }, {}, ['/workspace_id']],
    [
      'counted at less',
      { pricing_adjustments: { multiplier: { default: 1, image: { default: 2 } } } },
      { pricing_adjustments: { multiplier: { default: 0.5, image: { default: 3 } } } },
      ['/pricing_adjustments/multiplier/default'],
    ],
    ['counted at more', {}, { pricing_adjustments: { multiplier: { default: 2 } } }, []],
    [
      'lower prices in every field',
      { pricing_adjustments: { multiplier: factors } },
      {},
      ['/pricing_adjustments'],
    ],
    [
      'counted at less for one model',
      { models: [{ slug: 'a', pricing_adjustments: { multiplier: factors } }] },
      { models: [{ slug: 'a' }] },
      ['/models/0/pricing_adjustments'],
    ],
    [
      'counted at more for one model',
      { models: [{ slug: 'a', pricing_adjustments: { multiplier: { default: 1 } } }] },
      { models: [{ slug: 'a', pricing_adjustments: { multiplier: { default: 2 } } }] },
      [],
    ],
    [
      'cheaper by one of two prices',
      { models: [{ slug: 'a', pricing_config: prices(2, 3) }] },
      { models: [{ slug: 'a', pricing_config: prices(3, 2) }] },
      ['/models/0/pricing_config/pay_as_you_go/response_token/price'],
    ],
    [
      'kept where nothing was',
      { capabilities: { files: 'off', assistants: 'off', responses: 'off', vector_stores: 'off' } },
      { capabilities: { files: 'native' } },
      [
        ...['assistants', 'files', 'responses', 'vector_stores'].map(
          (one) => `/capabilities/${one}`,
        ),
      ],
    ],
    [
      'a workspace that is limited otherwise',
      { workspaces: [{ id: 'w', rate_limits: rate(1) }] },
      { workspaces: [{ id: 'w', rate_limits: rate(1, 'rps') }] },
      ['/workspaces/0/rate_limits/0'],
    ],
    ['a workspace kept out', {}, { workspaces: [{ id: 'w', enabled: false }] }, []],
    [
      'a path outside the list of endpoints allowed',
      { configurations: { raw_paths: ['/a'] } },
      { configurations: { raw_paths: ['/a', '/b'] } },
      ['/configurations/raw_paths/1'],
    ],
    [
      'another address',
      { configurations: { custom_host: 'https://a.example.com' } },
      { configurations: { custom_host: 'https://b.example.com' } },
      ['/configurations/custom_host'],
    ],
    ['a text', { description: 'a' }, { description: 'b' }, []],
  ],
  Provider: [
    ...budgets('/usage_limits', (usage_limits) => ({ usage_limits })),
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
  OrganisationDefaults: [
    [
      'keys that live longer',
      { api_key_max_ttl_days: 30 },
      { api_key_max_ttl_days: 60 },
      ['/api_key_max_ttl_days'],
    ],
    ...guardrailsOfSides,
    [
      'a field more in exports',
      { export_settings: { deniedFields: ['request', 'response'] } },
      { export_settings: { deniedFields: ['response'] } },
      ['/export_settings/deniedFields/0'],
    ],
  ],
  GuardrailExclusion: [
    [
      'from another side',
      { input_guardrails: true, output_guardrails: false },
      { input_guardrails: true, output_guardrails: true },
      ['/output_guardrails'],
    ],
    ['from a side more', {}, { input_guardrails: true }, ['/input_guardrails']],
    ['from a side less', { input_guardrails: true }, { input_guardrails: false }, []],
  ],
  WorkspaceGuardrails: guardrailsOfSides,
  Deployment: [
    ...(['workspaces_allowed', 'jwt_subs_allowed'] as const).flatMap((field): readonly Case[] => {
      const of = (...list: string[]) => ({ auth_settings: { [field]: list } });
      return [
        ['another that is served', of('a'), of('a', 'b'), [`/auth_settings/${field}/1`]],
        ['one that is served no more', of('a', 'b'), of('a'), []],
        ['everybody', of('a'), { auth_settings: {} }, [`/auth_settings/${field}`]],
        ['the first that is named', { auth_settings: {} }, of('a'), []],
      ];
    }),
    [
      'another subject with its workspace',
      { auth_settings: { jwt_sub_workspace_mapping: { a: 'w' } } },
      { auth_settings: { jwt_sub_workspace_mapping: { a: 'w', b: 'w' } } },
      ['/auth_settings/jwt_sub_workspace_mapping/b'],
    ],
    [
      'open to all, also to a playground',
      { auth_settings: { allow_all_workspaces: false, is_playground_proxy_allowed: 0 } },
      { auth_settings: { allow_all_workspaces: true, is_playground_proxy_allowed: 1 } },
      ['/auth_settings/allow_all_workspaces', '/auth_settings/is_playground_proxy_allowed'],
    ],
  ],
  ScimMapping: [
    ['a role that may more', { role: 'member' }, { role: 'admin' }, ['/role']],
    ['a role that may less', { role: 'admin' }, { role: 'manager' }, []],
    ['another group', { scim_group_name: 'a' }, { scim_group_name: 'b' }, ['/scim_group_name']],
    ['another workspace', { workspace_id: 'a' }, { workspace_id: 'b' }, ['/workspace_id']],
  ],
  ServiceAccount: [
    ['another role', { roles: ['a'] }, { roles: ['a', 'b'] }, ['/roles/1']],
    ['fewer roles', { roles: ['a', 'b'] }, { roles: ['a'] }, []],
    ['enabled', { status: 'disabled' }, { status: 'active' }, ['/status']],
    ['disabled', { status: 'active' }, { status: 'disabled' }, []],
    ['another account', { name: 'a' }, { name: 'b' }, ['/name']],
    ['the whole tenant', { workspace_id: 'a' }, {}, ['/workspace_id']],
    [
      'rarer rotation',
      { rotation_policy: { rotation_period_days: 30 } },
      { rotation_policy: { rotation_period_days: 60 } },
      ['/rotation_policy/rotation_period_days'],
    ],
    [
      'no more rotation',
      { rotation_policy: { rotation_period: 'weekly' } },
      {},
      ['/rotation_policy'],
    ],
    [
      'a later rotation, and a longer transition',
      {
        rotation_policy: {
          next_rotation_at: '2030-01-01T00:00:00Z',
          key_transition_period_ms: 1_800_000,
        },
      },
      {
        rotation_policy: {
          next_rotation_at: '2031-01-01T00:00:00Z',
          key_transition_period_ms: 3_600_000,
        },
      },
      ['/rotation_policy/key_transition_period_ms', '/rotation_policy/next_rotation_at'],
    ],
  ],
  TenantServiceGroup: [['a text', { description: 'a' }, { description: 'b' }, []]],
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

  it('classifies creating and deleting', () => {
    const creating = planOf(kind, null, { name: 'a' }).changes.map(({ loosens }) => loosens);
    const deleting = planOf(kind, { name: 'a' }, null).changes.map(({ loosens }) => loosens);
    const opening = [
      'ApiKey',
      'McpServer',
      'Provider',
      'GuardrailExclusion',
      'ScimMapping',
      'ServiceAccount',
    ];
    expect(creating).toEqual([opening.includes(kind)]);
    const policies = ['UsageLimitPolicy', 'RateLimitPolicy'];
    const lists = ['OrganisationDefaults', 'WorkspaceGuardrails'];
    const guarding = ['Guardrail', 'GuardrailMcpBinding', ...lists, ...policies];
    expect(deleting).toEqual([guarding.includes(kind)]);
  });
});

/** By kind the paths that never loosen access, and documents that the cases above cover in part. */
const harmless: Readonly<Record<KindName, readonly string[]>> = {
  Workspace: [
    'name',
    'scope_name',
    'description',
    'icon',
    'defaults.metadata.*',
    'usage_limits.alert_threshold',
    ...fixed.map((name) => `security_settings.${name}`),
  ],
  Guardrail: [
    'name',
    'checks.*.name',
    'actions.stream.**',
    'actions.sequential',
    'actions.on_success.**',
    'actions.on_fail.**',
    'actions.*',
  ],
  Config: ['name', 'slug', 'isDefault', 'config.*', 'workspace_id'],
  ApiKey: [
    'name',
    'description',
    'sub_type',
    'alert_emails.*',
    'defaults.metadata.*',
    'usage_limits.alert_threshold',
  ],
  SecretReference: [
    'name',
    'slug',
    'description',
    'tags.*',
    'manager_type',
    'secret_path',
    'secret_key',
    'auth_config.*',
  ],
  McpIntegration: [
    'name',
    'slug',
    'description',
    'url',
    'transport',
    'secret_mappings.*.*',
    'configurations.custom_headers.*',
    'configurations.headers.*',
    'configurations.*',
    'configurations.oauth_metadata.*',
    'configurations.oauth_metadata.*.*',
    'configurations.user_identity_forwarding.header_name',
    'configurations.user_identity_forwarding.jwt_expiry_seconds',
    'workspaces.*.id',
  ],
  McpServer: ['name', 'slug', 'description', 'mcp_integration_id', 'workspace_id'],
  GuardrailMcpBinding: [],
  UsageLimitPolicy: ['name', 'description', 'alert_threshold'],
  RateLimitPolicy: ['name', 'description'],
  Integration: [
    'name',
    'slug',
    'description',
    'ai_provider_id',
    'key',
    'tags.*',
    'secret_mappings.*.*',
    'configurations.custom_headers.*',
    'configurations.*',
    'models.*.slug',
    'models.*.is_custom',
    'models.*.is_finetune',
    'models.*.pricing_config.**',
    'models.*.base_model_slug',
    'models.*.configurations.custom_headers.*',
    'models.*.configurations.*',
    'workspaces.*.usage_limits.alert_threshold',
    'global_workspace_access.usage_limits.alert_threshold',
  ],
  Provider: [
    'name',
    'slug',
    'note',
    'tags.*',
    'integration_id',
    'workspace_id',
    'usage_limits.alert_threshold',
  ],
  PromptLabel: ['name', 'description', 'color_code', 'workspace_id'],
  PromptCollection: ['name', 'slug', 'workspace_id', 'parent_collection_id'],
  PromptPartial: ['name', 'slug', 'string', 'version_description', 'workspace_id'],
  Prompt: [
    'name',
    'slug',
    'string',
    'version_description',
    'workspace_id',
    'collection_id',
    'model',
    'virtual_key',
    'functions.**',
    'tools.**',
    'tool_choice.**',
    'template_metadata.*',
    'is_raw_template',
    'parameters.*',
  ],
  OrganisationDefaults: [],
  GuardrailExclusion: ['workspace_id'],
  WorkspaceGuardrails: ['workspace_id'],
  Deployment: [
    'name',
    'slug',
    'type',
    'is_default',
    'source_type',
    'tags.*',
    'deployment_config.*',
    'auth_settings.gateway_base_url',
    'auth_settings.mcp_gateway_base_url',
    'auth_settings.is_dataservice_hosted',
  ],
  ScimMapping: [],
  ServiceAccount: ['description'],
  TenantServiceGroup: ['name', 'description'],
};

describe('every field of every kind', () => {
  it.each(kindNames.map((kind) => [kind]))(
    'judges every field of %s in a case or lists it as harmless',
    async (kind) => {
      const judged = cases[kind].flatMap(([, before, after, marked]) =>
        [...leafValues(before, []), ...leafValues(after, [])]
          .map(({ segments }) => segments)
          .filter((segments) => marked.some((path) => leads(segmentsOf(path), segments))),
      );
      const open = (await placesOf(kind)).filter(
        (place) =>
          !judged.some((segments) => matchesPattern(place, segments)) &&
          !harmless[kind].some((pattern) => matchesPattern(pattern, place.split('.'))),
      );
      expect(open).toEqual([]);
    },
  );
});

function leads(to: readonly string[], segments: readonly string[]): boolean {
  return to.every((segment, at) => segment === segments[at]);
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** Every single value that a manifest of the kind can hold, as a dotted pattern. */
async function placesOf(kind: KindName): Promise<string[]> {
  const options = { io: 'input', unrepresentable: 'any' } as const;
  const places = new Set<string>();
  const visit = (schema: Schema, path: readonly string[]): void => {
    const { properties = {}, items, additionalProperties: others } = schema;
    const below = [
      ...Object.entries(properties),
      ...[items, typeof others === 'object' ? others : undefined]
        .filter((one) => one !== undefined)
        .map((one) => ['*', one] as const),
    ];
    const same = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
    for (const one of same) visit(one, path);
    for (const [key, one] of below) visit(one, [...path, key]);
    if (same.length + below.length === 0 && schema.type !== 'null') places.add(path.join('.'));
  };
  visit(z.toJSONSchema(await loadSpecSchema(kind), options) as Schema, []);
  return [...places];
}
