/** Table functions for gateway_deployments: gateways of an organisation. Deleted ones stay as archived rows. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type {
  DeploymentStatus,
  DeploymentType,
} from '../../model/workspaces/gateway-deployment.ts';
import type { Db } from '../connection/db.ts';
import { removeDefaultFlag } from '../rows/default-flag.ts';
import { listPage } from '../rows/paging.ts';
import { not } from '../rows/predicate.ts';
import { nameOrSlugContains, type RowCondition, resourceTable } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';

interface GatewayDeploymentRow extends VersionColumns {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  type: DeploymentType;
  status: DeploymentStatus;
  source_type: string | null;
  is_default: number;
  auth_settings: string;
  /** 0 restricts it to `workspace_ids`. */
  allow_all_workspaces: number;
  /** JSON list. */
  workspace_ids: string;
  deployment_config: string | null;
  tags: string | null;
  client_auth_hash: Buffer;
  client_auth_mask: string;
  created_by: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    gateway_deployments: GatewayDeploymentRow;
  }
}

/** A deployment as stored. */
export type StoredGatewayDeployment = Selectable<GatewayDeploymentRow>;

const table = resourceTable('gateway_deployments');
/** Archived rows are in no snapshot, so that a write replaces no mark. */
const archived = rows('gateway_deployments', { isVersioned: true });

export const { insert, findByIdOrSlug, findByIdOrSlugForUpdate, update } = table;

export interface GatewayDeploymentFilter {
  readonly type?: DeploymentType | undefined;
  readonly status: DeploymentStatus;
  /** All of them must match. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Deployments that serve any of these workspaces. */
  readonly workspaceIds?: readonly string[] | undefined;
}

/** One page, newest first. */
export function list(
  db: Db,
  organisationId: string,
  { type, status, tags, search, workspaceIds }: GatewayDeploymentFilter,
  page: Page,
): Promise<{ rows: StoredGatewayDeployment[]; total: number }> {
  let query = table.rows.matching(db, { organisation_id: organisationId, status, type });
  if (search !== undefined) query = query.where(nameOrSlugContains(search));
  if (tags !== undefined) {
    query = query.where(sql<boolean>`json_contains(tags, ${JSON.stringify(tags)})`);
  }
  if (workspaceIds !== undefined) {
    query = query.where((eb) =>
      eb.or([
        eb('allow_all_workspaces', '=', 1),
        ...workspaceIds.map((id) => sql<boolean>`locate(${`"${id}"`}, workspace_ids) > 0`),
      ]),
    );
  }
  return listPage({ db, stamp: stampOf('gateway_deployments', organisationId) }, query, page);
}

/** Active deployments, oldest first; `condition` selects a part of them. */
export function listActive(
  db: Db,
  organisationId: string,
  condition: RowCondition | null,
): Promise<StoredGatewayDeployment[]> {
  return table.rows
    .matching(db, { organisation_id: organisationId, status: 'active' })
    .selectAll()
    .$if(condition !== null, (all) => all.where(condition!('gateway_deployments', true)))
    .orderBy('id')
    .execute();
}

/** Lengthens the slug of an archived deployment, so that a new one can take the slug. */
export async function freeArchivedSlug(
  tx: Db,
  organisationId: string,
  slug: string,
): Promise<void> {
  const where = { organisation_id: organisationId, slug, status: 'archived' } as const;
  const longer = sql`concat(slug, '-', right(id, ${sql.lit(randomDigits)}))`;
  await archived.update(tx, where, { slug: longer });
}

/** Random digits at the end of an id. */
const randomDigits = 12;

/** Removes the default flag from all deployments other than `id`, which `owner` declares. */
export async function clearDefaults(
  tx: Db,
  organisationId: string,
  id: string,
  owner: string | null,
): Promise<void> {
  const others = await table.rows.list(
    tx,
    { organisation_id: organisationId, is_default: 1, id: not(id) },
    { columns: ['id'] },
  );
  const ids = others.map((other) => other.id);
  await removeDefaultFlag(tx, {
    table: 'gateway_deployments',
    kind: 'Deployment',
    owner,
    organisationId,
    ids,
  });
}
