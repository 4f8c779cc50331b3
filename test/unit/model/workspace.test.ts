/** Checks that the snapshot contains exactly the body that would create a resource again. */
import { describe, expect, it } from 'vitest';
import { apiKeyToSpec as keySpec } from '../../../src/admin/api-keys/api-key-record.ts';
import { usageLimitPolicyToSpec as policySpec } from '../../../src/admin/policies/usage-limit-policy-record.ts';
import { workspaceToSpec as workspaceSpec } from '../../../src/admin/workspaces/workspace-record.ts';
import { UsageLimitPolicyCreate } from '../../../src/model/limits/usage-limit-policy.ts';
import { ApiKeyCreate, ApiKeySubType, ApiKeyType } from '../../../src/model/people/api-key.ts';
import { displayName, makeWorkspaceSpec } from '../../../src/model/workspaces/workspace.ts';

const at = Date.UTC(2027, 0, 4);
const common = {
  id: '7e1c9bd2-0000-4000-8000-000000000000',
  organisation_id: '7e1c9bd2-0000-4000-8000-000000000001',
  workspace_id: null,
  description: null,
  rotated_at: null,
  transition_expires_at: null,
  last_reset_at: null,
  last_used_at: null,
  version: 3,
  created_at: at,
  last_updated_at: at,
};

const key = {
  ...common,
  user_id: null,
  type: 'organisation-service' as const,
  name: 'bot',
  key_mask: 'ab*****xyz',
  status: 'active' as const,
  creation_mode: 'api' as const,
  scopes: '["logs.view"]',
  rate_limits: null,
  usage_limits: null,
  metadata: null,
  config_id: null,
  allow_config_override: null,
  alert_emails: null,
  expires_at: null,
  rotation_policy: null,
  created_by: 'x',
};

const workspace = {
  ...common,
  slug: 'ws-ops-000000',
  name: 'Ops',
  icon: null,
  scope_name: null,
  defaults: null,
  usage_limits: null,
  rate_limits: null,
  status: 'active' as const,
  is_default: 0,
  api_key_max_ttl_days: null,
  settings: null,
  security_settings: null,
  guardrails_version: 1,
  own_version: 1,
  created_by: 'x',
};

const policy = {
  ...common,
  name: null,
  conditions: '[{"key":"api_key","value":"*"}]',
  group_by: '[{"key":"api_key"}]',
  type: 'cost' as const,
  credit_limit_units: 2_500_000,
  alert_threshold_units: null,
  outage_units: null,
  periodic_reset: null,
  periodic_reset_days: null,
  first_reset_at: null,
  window_start: at,
  next_reset_at: null,
  last_reset_at: null,
  last_used_at: null,
  status: 'active' as const,
};

describe('the spec of an API key', () => {
  const Body = ApiKeyCreate.extend({ type: ApiKeyType, sub_type: ApiKeySubType }).strict();

  it('omits everything optional for a minimal key', () => {
    const spec = { type: 'organisation', sub_type: 'service', name: 'bot', scopes: ['logs.view'] };
    expect(keySpec(key)).toEqual(spec);
    expect(Body.parse(spec)).toEqual(spec);
  });

  it('contains everything that was sent, without nulls and server additions', () => {
    const spec = keySpec({
      ...key,
      type: 'workspace-user',
      usage_limits: '{"credit_limit":5,"alert_threshold":null,"periodic_reset":"weekly"}',
      rate_limits: '[]',
      metadata: '{"a":null}',
      allow_config_override: 0,
      expires_at: at,
      rotation_policy: '{"rotation_period":"weekly","next_rotation_at":"2027-01-11T00:00:00.000Z"}',
    });
    expect(spec).toEqual({
      type: 'workspace',
      sub_type: 'user',
      name: 'bot',
      scopes: ['logs.view'],
      usage_limits: { credit_limit: 5, periodic_reset: 'weekly' },
      rate_limits: [],
      defaults: { metadata: { a: null }, allow_config_override: false },
      expires_at: '2027-01-04T00:00:00.000Z',
      rotation_policy: { rotation_period: 'weekly' },
    });
    expect(Body.parse(spec)).toEqual(spec);
  });

  it('keeps a single rotation time, because its author set it', () => {
    const rotation_policy = { next_rotation_at: '2027-02-01T00:00:00.000Z' };
    const row = { ...key, rotation_policy: JSON.stringify(rotation_policy) };
    expect(keySpec(row)).toMatchObject({ rotation_policy });
  });
});

describe('the spec of a workspace', () => {
  it('contains the plain name, and the defaults that a create accepts', () => {
    const spec = workspaceSpec({
      ...workspace,
      icon: '🚀',
      defaults: '{"metadata":{"a":"1"},"input_guardrails":["pg-x"],"allow_config_override":false}',
      usage_limits: '[{"credit_limit":5,"periodic_reset":null}]',
      rate_limits: '[]',
      settings: '{"user_api_keys_max":2}',
      api_key_max_ttl_days: 9,
      security_settings: '{"membersViewAllData":false}',
    });
    expect(spec).toEqual({
      name: 'Ops',
      icon: '🚀',
      defaults: { metadata: { a: '1' }, allow_config_override: false },
      usage_limits: { credit_limit: 5 },
      rate_limits: [],
      settings: { user_api_keys_max: 2, api_key_max_ttl_days: 9 },
      security_settings: { membersViewAllData: false },
    });
    expect(makeWorkspaceSpec().parse(spec)).toEqual(spec);
    expect(displayName({ name: 'Ops', icon: '🚀' })).toBe('🚀 Ops');
    expect(workspaceSpec(workspace)).toEqual({ name: 'Ops' });
  });
});

describe('the spec of a usage-limit policy', () => {
  it('contains the first reset as it was sent, not the next one', () => {
    const spec = policySpec({
      ...policy,
      periodic_reset_days: 10,
      first_reset_at: at,
      next_reset_at: at + 1,
    });
    expect(spec).toEqual({
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
      type: 'cost',
      credit_limit: 2.5,
      periodic_reset_days: 10,
      next_usage_reset_at: '2027-01-04T00:00:00.000Z',
    });
    expect(UsageLimitPolicyCreate.strict().parse(spec)).toEqual(spec);
  });
});
