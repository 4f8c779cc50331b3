/** Knows the integrations table: accounts at providers of models. Secret values in it are sealed before they come here. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import { isOwnedBy, type ListFilter, resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';
import type { StoredIntegrationWorkspace } from './integration-workspaces.ts';

interface IntegrationRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: string | null;
  /** Slug of the service (model/services/ai-providers.ts). */
  ai_provider: string;
  sealed_key: string | null;
  /** What answers show of the key. */
  key_mask: string | null;
  configurations: string | null;
  secret_mappings: string | null;
  pricing_adjustments: string | null;
  tags: string | null;
  /** Who keeps what callers make there. */
  capabilities: string | null;
  /** A list; what is not in it is as `allow_all_models` says. */
  models: string | null;
  allow_all_models: number;
  /** What workspaces may do that have no row in integration_workspaces. */
  global_workspace_access: string | null;
  /** `auto` for one that was made with a virtual key, and goes with it. */
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

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  listByIds,
  listAllForOrganisation,
  update,
  deleteById,
} = resourceTable('integrations');

/** With what is said of the workspace in integrations of the organisation. */
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
  let query = db.selectFrom('integrations').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.type !== undefined) {
    query = query.where(isOwnedBy(filter.type));
  }
  return listPageInSlices({ db, stamp: stampOf('integrations', organisationId) }, query, page, [
    'configurations',
    'models',
    'description',
    'tags',
  ]);
}

/** An integration, and what it says of one workspace by name. */
export interface IntegrationWithGrant {
  readonly integration: StoredIntegration;
  readonly grant: Grant | null;
}

/** Its id is the subject of the budget. */
type Grant = Pick<StoredIntegrationWorkspace, 'id' | 'enabled' | 'usage_limits' | 'rate_limits'>;

/** Both in one statement. */
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
