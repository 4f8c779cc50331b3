/** Knows the workspaces table. Archived workspaces stay in it but are found by no one save the list. */
import type { Generated, Selectable } from 'kysely';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { readDocument } from '../../model/wire/json-record.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { Db } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { resourceTable, type RowCondition } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { isDeclared } from '../sync/managed-resources.ts';

interface WorkspaceRow extends Versioned {
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
  /** JSON of what was said. */
  security_settings: string | null;
  created_by: string;
  /** The version with which the guardrails of `defaults` were changed last, and all else. */
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

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  listByIds,
  listByReferencesForShare,
  listAllForOrganisation,
  update,
} = resourceTable('workspaces', { archived: 'hidden' });

/** The slug of an active workspace that puts a config before the requests of its people's keys. */
export async function findNamingUserKeyConfig(
  db: Db,
  organisationId: string,
  configId: string,
): Promise<string | undefined> {
  const rows = await db
    .selectFrom('workspaces')
    .select(['slug', 'defaults'])
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .where(sql<boolean>`locate(${configId}, defaults) > 0`)
    .execute();
  const naming = rows.find(
    ({ defaults }) => readDocument<WorkspaceDefaults>(defaults)?.user_api_key_config === configId,
  );
  return naming?.slug;
}

/** Active ones that may name guardrails in their defaults, or of which a manifest says which. */
export function listNamingGuardrails(
  db: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<(StoredWorkspace & { readonly is_declared: SqlBool })[]> {
  const declared = isDeclared('WorkspaceGuardrails', 'workspaces');
  return db
    .selectFrom('workspaces')
    .selectAll()
    .select(declared.as('is_declared'))
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .where((is) => is.or([declared, sql<boolean>`locate('put_guardrails', defaults) > 0`]))
    .$if(which !== null, (rows) => rows.where(which!('workspaces', false)))
    .orderBy('id')
    .execute();
}

export interface WorkspaceFilter {
  /** The one workspace that a bound credential may see. */
  readonly id?: string | undefined;
  readonly statuses: readonly WorkspaceRow['status'][];
  /** Part of the name as it is shown, with its icon. */
  readonly name?: string | undefined;
  /** The whole name, with its icon or without. */
  readonly exactName?: string | undefined;
}

/** As people see it: the icon before the name, where there is one. */
const shownName = sql`concat_ws(' ', icon, name)`;

export function list(
  db: Db,
  organisationId: string,
  filter: WorkspaceFilter,
  page: Page,
): Promise<SlicedPage<StoredWorkspace>> {
  let query = db
    .selectFrom('workspaces')
    .where('organisation_id', '=', organisationId)
    .where('status', 'in', filter.statuses);
  if (filter.id !== undefined) query = query.where('id', '=', filter.id);
  if (filter.exactName !== undefined) {
    const wanted = filter.exactName;
    // Comparing text leaves spaces at the end out.
    const bytes = Buffer.byteLength(wanted);
    const isNamed = (name: RawBuilder<unknown>) =>
      sql<boolean>`${name} = ${wanted} and octet_length(${name}) = ${bytes}`;
    query = query.where(sql<boolean>`(${isNamed(sql.ref('name'))} or ${isNamed(shownName)})`);
  }
  if (filter.name !== undefined) {
    // The column compares exactly; people who search do not.
    const part = sql`lower(cast(${filter.name} as char))`;
    query = query.where(sql<boolean>`locate(${part}, lower(${shownName})) > 0`);
  }
  return listPageInSlices({ db, stamp: stampOf('workspaces', organisationId) }, query, page, [
    'defaults',
    'usage_limits',
    'rate_limits',
    'description',
  ]);
}
