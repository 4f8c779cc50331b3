/** Builds rows of workspaces for tests that write them directly. */
import type { Db } from '../../../src/store/connection/db.ts';

/** Inserts an active workspace with this id. */
export async function insertWorkspace(db: Db, organisationId: string, id: string): Promise<void> {
  await db
    .insertInto('workspaces')
    .values({
      organisation_id: organisationId,
      id,
      slug: `ws-${id}`,
      name: 'a workspace',
      description: null,
      icon: null,
      scope_name: null,
      defaults: null,
      usage_limits: null,
      rate_limits: null,
      status: 'active',
      is_default: 0,
      api_key_max_ttl_days: null,
      settings: null,
      security_settings: null,
      created_by: 'test',
      created_at: 0,
      last_updated_at: 0,
    })
    .execute();
}
