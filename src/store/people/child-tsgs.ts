/** Table functions for child_tsgs: the tenants below a tenant. The id of a child is that of its organisation. */
import { type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';

interface ChildTsgRow extends VersionColumns {
  id: string;
  /** The organisation of the parent. */
  organisation_id: string;
  tsg_id: string;
  name: string;
  description: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    child_tsgs: ChildTsgRow;
  }
}

/** A child as stored. */
export type StoredChildTsg = Selectable<ChildTsgRow>;

const table = resourceTable('child_tsgs', { hasSlug: false });

/** An insert throws errno 1062 when the tenant has a child of this name. */
export const {
  insert,
  findById,
  findByIdForUpdate,
  listMatching,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

/** Tables with a row for each resource that keeps an organisation from being deleted. */
const holdingTables = [
  'child_tsgs',
  'service_account_profiles',
  'workspaces',
  'api_keys',
  'configs',
  'guardrails',
  'integrations',
  'mcp_integrations',
  'secret_references',
  'gateway_deployments',
  'prompt_labels',
  'prompt_partials',
] as const;
/** Deleted rows of these stay as archived ones. */
const archiving: ReadonlySet<string> = new Set(['workspaces', 'gateway_deployments']);

/** Names of the tables in which an organisation has rows; what is in workspaces counts with them. */
export async function listHoldings(tx: Db, organisationId: string): Promise<string[]> {
  const parts = holdingTables.map((name) => {
    const live = archiving.has(name) ? sql` and status <> 'archived'` : sql``;
    return sql`(select ${sql.lit(name)} as name from ${sql.table(name)}
      where organisation_id = ${organisationId}${live} limit 1)`;
  });
  const found = await sql<{ name: string }>`${sql.join(parts, sql` union all `)}`.execute(tx);
  return found.rows.map(({ name }) => name);
}
