/** Table functions for workspaces. Deleted workspaces stay as archived rows, which only the list returns. */
import type { Generated, Selectable } from 'kysely';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { readDocument } from '../../model/wire/json-record.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { Db } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { contains, type RowCondition, resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { isDeclared } from '../sync/managed-resources.ts';

interface WorkspaceRow extends VersionColumns {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  icon: string | null;
  scope_name: string | null;
  defaults: string | null;
  usage_limits: string | null;
  rate_limits: string | null;
  status: 'active' | 'archived';
  is_default: number;
  api_key_max_ttl_days: number | null;
  settings: string | null;
  /** JSON as sent. */
  security_settings: string | null;
  created_by: string;
  /** Version of the last change of the guardrails in `defaults`; `own_version` covers everything else. */
  guardrails_version: Generated<number>;
  own_version: Generated<number>;
}

declare module '../connection/db.ts' {
  interface Tables {
    workspaces: WorkspaceRow;
  }
}

/** A workspace as stored. */
export type StoredWorkspace = Selectable<WorkspaceRow>;

const table = resourceTable('workspaces', { archived: 'hidden' });

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  listByIds,
  listByReferencesForShare,
  listAllForOrganisation,
  update,
} = table;

/** The slug of any active workspace that applies the config to its user keys. */
export async function findByUserKeyConfig(
  db: Db,
  organisationId: string,
  configId: string,
): Promise<string | undefined> {
  const found = await table.rows
    .matching(db, { organisation_id: organisationId, status: 'active' })
    .select(['slug', 'defaults'])
    .where(sql<boolean>`locate(${configId}, defaults) > 0`)
    .execute();
  const applying = found.find(
    ({ defaults }) => readDocument<WorkspaceDefaults>(defaults)?.user_api_key_config === configId,
  );
  return applying?.slug;
}

/** Active workspaces whose defaults may contain guardrails, or whose guardrails a manifest declares. */
export function listWithGuardrails(
  db: Db,
  organisationId: string,
  condition: RowCondition | null,
): Promise<(StoredWorkspace & { readonly is_declared: SqlBool })[]> {
  const declared = isDeclared('WorkspaceGuardrails', 'workspaces');
  return table.rows
    .matching(db, { organisation_id: organisationId, status: 'active' })
    .selectAll()
    .select(declared.as('is_declared'))
    .where((is) => is.or([declared, sql<boolean>`locate('put_guardrails', defaults) > 0`]))
    .$if(condition !== null, (all) => all.where(condition!('workspaces', false)))
    .orderBy('id')
    .execute();
}

export interface WorkspaceFilter {
  /** The only workspace that a workspace-bound credential may see. */
  readonly id?: string | undefined;
  readonly statuses: readonly WorkspaceRow['status'][];
  /** Part of the name as displayed, with its icon. */
  readonly name?: string | undefined;
  /** The whole name, with or without its icon. */
  readonly exactName?: string | undefined;
}

/** The icon, if any, before the name. */
const displayName = sql`concat_ws(' ', icon, name)`;

export function list(
  db: Db,
  organisationId: string,
  filter: WorkspaceFilter,
  page: Page,
): Promise<SlicedPage<StoredWorkspace>> {
  let query = table.rows.matching(db, {
    organisation_id: organisationId,
    status: filter.statuses,
    id: filter.id,
  });
  if (filter.exactName !== undefined) {
    const wanted = filter.exactName;
    // The collation ignores trailing spaces.
    const bytes = Buffer.byteLength(wanted);
    const isNamed = (name: RawBuilder<unknown>) =>
      sql<boolean>`${name} = ${wanted} and octet_length(${name}) = ${bytes}`;
    query = query.where(sql<boolean>`(${isNamed(sql.ref('name'))} or ${isNamed(displayName)})`);
  }
  if (filter.name !== undefined) {
    query = query.where(contains(displayName, filter.name));
  }
  return listPageInSlices({ db, stamp: stampOf('workspaces', organisationId) }, query, page, [
    'defaults',
    'usage_limits',
    'rate_limits',
    'description',
  ]);
}
