/** Knows what a row of api_keys looks like in tests that write it themselves. */
import { randomUUID } from 'node:crypto';
import type { ApiKeyRow } from '../src/store/tables/api-keys.ts';

/** An active key of an organisation of its own, never to expire, save for `fields`. */
export function apiKeyRow(fields: Partial<ApiKeyRow> = {}): Omit<ApiKeyRow, 'version'> {
  return {
    id: randomUUID(),
    organisation_id: randomUUID(),
    workspace_id: null,
    user_id: null,
    type: 'organisation-service',
    name: 'a key',
    description: null,
    key_mask: 'ab*****xyz',
    status: 'active',
    creation_mode: 'api',
    scopes: '[]',
    rate_limits: null,
    usage_limits: null,
    metadata: null,
    config_id: null,
    allow_config_override: null,
    alert_emails: null,
    expires_at: null,
    rotation_policy: null,
    last_reset_at: null,
    created_by: 'test',
    created_at: 0,
    last_updated_at: 0,
    ...fields,
  } as Omit<ApiKeyRow, 'version'>;
}
