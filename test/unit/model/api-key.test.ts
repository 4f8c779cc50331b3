/** Tests API key bodies: validation before any look-up, and the planning of rotations. */
import { describe, expect, it } from 'vitest';
import {
  ApiKeyCreate,
  ApiKeyUpdate,
  apiKeyFaults,
  makeApiKeySpec,
  RotationPolicy,
} from '../../../src/model/people/api-key.ts';
import { plannedRotation } from '../../../src/model/people/rotation-times.ts';

const minimal = { name: 'bot', scopes: ['completions.write'] };
const monday = Date.UTC(2027, 0, 4, 8);

describe('the body of a create', () => {
  it('requires only a name and scopes, and adds nothing', () => {
    expect(ApiKeyCreate.parse(minimal)).toEqual(minimal);
  });

  it.each([
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 'bot\r\nBcc: all@example.com' }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['logs.view', 'logs.view'] }],
    ['alert_emails.0', { alert_emails: ['a@example.com, b@example.com'] }],
    ['alert_emails.0', { alert_emails: ['a@example.com\r\nBcc: b@example.com'] }],
    ['expires_at', { expires_at: '2026-02-30T00:00:00Z' }],
    ['user_id', { user_id: 'somebody' }],
    [
      'rotation_policy.key_transition_period_ms',
      { rotation_policy: { key_transition_period_ms: 1 } },
    ],
  ])('reports the fault at %s', (path, changes) => {
    const { error } = ApiKeyCreate.safeParse({ ...minimal, ...changes });
    expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
  });

  it('counts the name in characters, not in UTF-16 units', () => {
    expect(ApiKeyCreate.safeParse({ ...minimal, name: '🚀'.repeat(100) }).success).toBe(true);
  });
});

describe('the required owner of a key type', () => {
  const user = { user_id: '018f0000-0000-7000-8000-000000000000' };
  it.each([
    [{ type: 'workspace', sub_type: 'service' }, ['workspace_id'], ['type']],
    [{ type: 'organisation', sub_type: 'service', workspace_id: 'ws' }, ['workspace_id'], ['type']],
    [{ type: 'workspace', sub_type: 'user', workspace_id: 'ws' }, ['user_id'], ['user_id']],
    [{ type: 'organisation', sub_type: 'user', ...user }, [], []],
    [{ type: 'workspace', sub_type: 'service', workspace_id: 'ws' }, [], []],
  ] as const)('is required by server and manifest alike: %j', (key, served, declared) => {
    expect(apiKeyFaults(key).map(({ path }) => path.join('.'))).toEqual(served);
    const { error } = makeApiKeySpec().safeParse({ ...minimal, ...key });
    expect((error?.issues ?? []).map(({ path }) => path.join('.'))).toEqual(declared);
  });
});

describe('the body of an update', () => {
  it('accepts null for everything that can be cleared', () => {
    const body = {
      description: null,
      rate_limits: null,
      usage_limits: null,
      defaults: { config_id: null, metadata: null, allow_config_override: null },
      alert_emails: null,
      expires_at: null,
      rotation_policy: null,
    };
    expect(ApiKeyUpdate.parse(body)).toEqual(body);
  });
});

describe('a rotation policy', () => {
  it.each([
    { rotation_period: 'weekly', rotation_period_days: 7 },
    { rotation_period: 'weekly', next_rotation_at: '2027-02-01T00:00:00Z' },
    { rotation_period: 'daily' },
    { rotation_period_days: 366 },
    { rotation_period_days: 1, key_transition_period_ms: 86_400_000 },
    { rotation_period: 'weekly', key_transition_period_ms: 7 * 86_400_000 },
  ])('rejects %j', (policy) => expect(RotationPolicy.safeParse(policy).success).toBe(false));

  it('derives its next time from the period, and keeps it while the period stays', () => {
    const first = plannedRotation({ rotation_period: 'weekly' }, null, monday);
    expect(first).toEqual({
      rotation_period: 'weekly',
      next_rotation_at: '2027-01-11T00:00:00.000Z',
    });
    const later = monday + 30 * 86_400_000;
    expect(plannedRotation({ rotation_period: 'weekly' }, first, later)).toEqual(first);
    const monthly = plannedRotation({ rotation_period: 'monthly' }, first, monday);
    expect(monthly).toMatchObject({ next_rotation_at: '2027-02-01T00:00:00.000Z' });
    const days = plannedRotation({ rotation_period_days: 10 }, monthly, monday);
    expect(days).toMatchObject({ next_rotation_at: '2027-01-14T00:00:00.000Z' });
  });

  it('rejects a single time in the past, unless it is the stored one', () => {
    const policy = { next_rotation_at: '2027-01-01T00:00:00.000Z' };
    expect(() => plannedRotation(policy, null, monday)).toThrow('must be in the future');
    expect(plannedRotation(policy, policy, monday)).toEqual(policy);
    expect(plannedRotation(null, policy, monday)).toBeNull();
  });
});
