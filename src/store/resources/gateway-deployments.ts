/** Knows the gateway_deployments table: gateways that an organisation runs; deleted ones stay as archived. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type {
  DeploymentStatus,
  DeploymentType,
} from '../../model/workspaces/gateway-deployment.ts';
import type { Db } from '../connection/db.ts';
import { giveUpDefaults } from '../rows/given-up-defaults.ts';
import { listPage } from '../rows/paging.ts';
import { nameOrSlugContains, resourceTable, type RowCondition } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';

interface GatewayDeploymentRow extends Versioned {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  type: DeploymentType;
  status: DeploymentStatus;
  source_type: string | null;
  is_default: number;
  auth_settings: string;
  /** 0: those of workspace_ids only. */
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

export const { insert, findByIdOrSlug, findByIdOrSlugForUpdate, update } =
  resourceTable('gateway_deployments');

export interface GatewayDeploymentFilter {
  readonly type?: DeploymentType | undefined;
  readonly status: DeploymentStatus;
  /** Each of them has to be there. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Those that serve any of these. */
  readonly workspaceIds?: readonly string[] | undefined;
}

/** One page, newest first. */
export function list(
  db: Db,
  organisationId: string,
  { type, status, tags, search, workspaceIds }: GatewayDeploymentFilter,
  page: Page,
): Promise<{ rows: StoredGatewayDeployment[]; total: number }> {
  let query = db
    .selectFrom('gateway_deployments')
    .where('organisation_id', '=', organisationId)
    .where('status', '=', status);
  if (type !== undefined) query = query.where('type', '=', type);
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

/** Oldest first; `which` leaves some out. */
export function listActive(
  db: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<StoredGatewayDeployment[]> {
  return db
    .selectFrom('gateway_deployments')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .$if(which !== null, (rows) => rows.where(which!('gateway_deployments', true)))
    .orderBy('id')
    .execute();
}

/** Has an archived one go by a longer slug, so that another can have this one. */
export async function freeArchivedSlug(
  tx: Db,
  organisationId: string,
  slug: string,
): Promise<void> {
  await tx
    .updateTable('gateway_deployments')
    .set({
      slug: sql`concat(slug, '-', right(id, ${sql.lit(idPartLength)}))`,
      version: sql`version + 1`,
    })
    .where('organisation_id', '=', organisationId)
    .where('slug', '=', slug)
    .where('status', '=', 'archived')
    .execute();
}

/** Digits of an id that were drawn by chance. */
const idPartLength = 12;

/** Of all others of the organisation than the one of this id, which `owner` declares. */
export async function clearDefaults(
  tx: Db,
  organisationId: string,
  id: string,
  owner: string | null,
): Promise<void> {
  const others = await tx
    .selectFrom('gateway_deployments')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('is_default', '=', 1)
    .where('id', '<>', id)
    .execute();
  const ids = others.map((other) => other.id);
  const giving = { table: 'gateway_deployments', kind: 'Deployment', owner } as const;
  await giveUpDefaults(tx, { ...giving, organisationId, ids });
}
