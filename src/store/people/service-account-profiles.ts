/** Table functions for service_account_profiles: what a tenant sees and changes of its service accounts. */
import { type Selectable, sql } from 'kysely';
import type { ServiceAccountStatus } from '../../model/people/service-account.ts';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';

interface ServiceAccountProfileRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string;
  description: string | null;
  status: ServiceAccountStatus;
  /** `auto` for the account of `gatewright bootstrap`. */
  creation_mode: 'api' | 'auto';
  rotation_policy: string | null;
  /** When the secret of the last rotation became valid. */
  rotated_at: number | null;
  /** When the previous secret ends or ended; null for one that was never rotated, and until the new one is delivered. */
  transition_expires_at: number | null;
  created_by: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    service_account_profiles: ServiceAccountProfileRow;
  }
}

/** A profile as stored. */
export type StoredServiceAccountProfile = Selectable<ServiceAccountProfileRow>;

const table = resourceTable('service_account_profiles', { hasSlug: false });

/** An insert throws errno 1062 when the organisation has an account of this name. */
export const {
  insert,
  findById,
  findByIdForUpdate,
  listMatching,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

/** Includes the credentials and roles of the accounts. */
export const contents = contentsOf('ServiceAccount', 'service_account_profiles', (at) => {
  const ids = heldIds('service_account_profiles', at);
  const clients = sql`(select client_id from service_accounts where id in ${ids})`;
  return [
    sql`delete from access_policies where principal in ${clients}`,
    sql`delete from service_accounts where id in ${ids}`,
  ];
});

/** Records that the roles of an account were changed elsewhere; does nothing for other principals. */
export async function touch(
  tx: Db,
  organisationId: string,
  name: string,
  now: number,
): Promise<void> {
  await table.rows.update(tx, { organisation_id: organisationId, name }, { last_updated_at: now });
}
