/** Knows the workspaces table. Archived workspaces stay in it but are found by no one save the list. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from './paging.ts';
import { resourceTable } from './resource-table.ts';
import { stampOf } from './snapshot-marks.ts';
import type { Versioned } from './versioned.ts';

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

export interface WorkspaceFilter {
  /** The one workspace that a bound credential may see. */
  readonly id?: string | undefined;
  readonly statuses: readonly WorkspaceRow['status'][];
  /** Part of the name. */
  readonly name?: string | undefined;
  /** The whole name. */
  readonly exactName?: string | undefined;
}

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
    // Comparing text leaves spaces at the end out.
    const bytes = Buffer.byteLength(filter.exactName);
    query = query
      .where('name', '=', filter.exactName)
      .where(sql<boolean>`octet_length(name) = ${bytes}`);
  }
  if (filter.name !== undefined) {
    // The column compares exactly; people who search do not.
    query = query.where(sql<boolean>`locate(lower(cast(${filter.name} as char)), lower(name)) > 0`);
  }
  return listPageInSlices({ db, stamp: stampOf('workspaces', organisationId) }, query, page, [
    'defaults',
    'usage_limits',
    'rate_limits',
    'description',
  ]);
}
