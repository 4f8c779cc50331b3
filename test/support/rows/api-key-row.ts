/** Builds rows of api_keys for tests that write them directly, including values. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from '../../../src/store/connection/db.ts';
import type { ApiKeyRow } from '../../../src/store/resources/api-keys.ts';

/** An active key of a new organisation that never expires, overridden by `fields`. */
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
    rotated_at: null,
    transition_expires_at: null,
    last_reset_at: null,
    last_used_at: null,
    created_by: 'test',
    created_at: 0,
    last_updated_at: 0,
    ...fields,
  } as Omit<ApiKeyRow, 'version'>;
}

/** Inserts keys, each with a value that nobody knows, because every key has one. */
export async function insertApiKeys(
  db: Db,
  rows: readonly ReturnType<typeof apiKeyRow>[],
): Promise<void> {
  for (let at = 0; at < rows.length; at += 1000) {
    const some = rows.slice(at, at + 1000);
    await db.insertInto('api_keys').values(some).execute();
    const values = some.map(({ id, organisation_id, created_at }) => ({
      hash: randomBytes(32),
      pepper_id: 'test',
      organisation_id,
      api_key_id: id,
      valid_from: created_at,
      valid_until: null,
    }));
    await db.insertInto('api_key_hashes').values(values).execute();
  }
}
