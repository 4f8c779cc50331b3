/** Table functions for integrations: connections to model providers. Callers seal secret values before storing them. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { isOwnedBy, type ListFilter, resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';
import type { StoredIntegrationWorkspace } from './integration-workspaces.ts';

interface IntegrationRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: string | null;
  /** Slug of the service (model/services/ai-providers.ts). */
  ai_provider: string;
  sealed_key: string | null;
  /** The key as responses show it. */
  key_mask: string | null;
  configurations: string | null;
  secret_mappings: string | null;
  pricing_adjustments: string | null;
  tags: string | null;
  /** Where objects that callers create are stored, and which endpoints exist. */
  capabilities: string | null;
  /** JSON list; `allow_all_models` applies to models that are not listed. */
  models: string | null;
  allow_all_models: number;
  /** Access of workspaces without a row in integration_workspaces. */
  global_workspace_access: string | null;
  /** `auto` for one that was created with a virtual key and is deleted with it. */
  creation_mode: 'api' | 'auto';
  status: 'active' | 'archived';
  owner_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    integrations: IntegrationRow;
  }
}

/** An integration as stored. */
export type StoredIntegration = Selectable<IntegrationRow>;

const table = resourceTable('integrations');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  listByIds,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

/** Includes the workspace's access to integrations of the organisation. */
export const contents = contentsOf('Integration', 'integrations', (at) => [
  ...removalOfBudgets('integration_workspace', 'integration_workspaces', at),
  sql`delete from integration_workspaces
    where organisation_id = ${at.organisationId} and workspace_id = ${at.workspaceId}`,
]);

export type IntegrationFilter = Omit<ListFilter, 'ids' | 'search'>;

export function list(
  db: Db,
  organisationId: string,
  filter: IntegrationFilter,
  page: Page,
): Promise<SlicedPage<StoredIntegration>> {
  const { type, workspaceId } = filter;
  const query = table.rows
    .matching(db, { organisation_id: organisationId, workspace_id: workspaceId })
    .$if(type !== undefined, (all) => all.where(isOwnedBy(type!)));
  return listPageInSlices({ db, stamp: stampOf('integrations', organisationId) }, query, page, [
    'configurations',
    'models',
    'description',
    'tags',
  ]);
}

/** An integration with the access of one workspace. */
export interface IntegrationWithGrant {
  readonly integration: StoredIntegration;
  /** Null when the workspace has no row of its own. */
  readonly grant: Grant | null;
}

/** `id` is the subject of the budget. */
type Grant = Pick<StoredIntegrationWorkspace, 'id' | 'enabled' | 'usage_limits' | 'rate_limits'>;

/** Reads both with one statement. */
export async function findWithGrant(
  db: Db,
  organisationId: string,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string },
): Promise<IntegrationWithGrant | undefined> {
  const row = await withGrant.first(db, { organisationId, id, workspaceId });
  if (row === undefined) return undefined;
  const { grant_id, grant_enabled, grant_usage_limits, grant_rate_limits, ...integration } = row;
  if (grant_id === null) return { integration, grant: null };
  const grant = {
    id: grant_id,
    enabled: grant_enabled ?? 0,
    usage_limits: grant_usage_limits,
    rate_limits: grant_rate_limits,
  };
  return { integration, grant };
}

const withGrant = statement(
  (db, named: { organisationId: string; id: string; workspaceId: string }) =>
    db
      .selectFrom('integrations')
      .leftJoin('integration_workspaces as granted', (join) =>
        join
          .onRef('granted.organisation_id', '=', 'integrations.organisation_id')
          .onRef('granted.integration_id', '=', 'integrations.id')
          .on('granted.workspace_id', '=', named.workspaceId),
      )
      .selectAll('integrations')
      .select([
        'granted.id as grant_id',
        'granted.enabled as grant_enabled',
        'granted.usage_limits as grant_usage_limits',
        'granted.rate_limits as grant_rate_limits',
      ])
      .where('integrations.organisation_id', '=', named.organisationId)
      .where('integrations.id', '=', named.id),
);
