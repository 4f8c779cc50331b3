/** Selects the requests of an export: those that match its filters and that its author may see. */
import type { Principal } from '../../../auth/principal.ts';
import type { ExportFilters, ExportSelection } from '../../../model/logs/log-export.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { Db } from '../../../store/connection/db.ts';
import * as configs from '../../../store/resources/configs.ts';
import * as gatewayDeployments from '../../../store/resources/gateway-deployments.ts';
import type { StoredWorkspace } from '../../../store/resources/workspaces.ts';
import * as workspaces from '../../../store/resources/workspaces.ts';
import { exportableKeys } from './export-access.ts';

/**
 * @throws ApiError `invalid` for an unknown reference or an invalid range, `forbidden` when the caller may
 * not see the log
 */
export async function selectRequests(
  db: Db,
  caller: Principal,
  workspace: StoredWorkspace | null,
  filters: ExportFilters,
): Promise<ExportSelection> {
  const visible = await exportableKeys(db, caller, workspace);
  const { time_of_generation_min: min, time_of_generation_max: max } = filters;
  if (min > max) {
    const path = ['filters', 'time_of_generation_min'];
    throw validationError({ path, message: 'must not be after the end' });
  }
  const requested = filters.api_key_ids?.map((id) => id.toLowerCase()) ?? null;
  return {
    workspaceIds: intersection(
      workspace === null ? null : [workspace.id],
      await workspacesOf(db, caller, filters.workspace_slug),
      await workspacesServedBy(db, caller, filters.deployment_slug),
    ),
    configIds: await configsOf(db, caller, filters.configs),
    apiKeyIds: intersection(visible, requested),
  };
}

type Ids = readonly string[] | null;

/** Intersection of the lists; null is everything. */
function intersection(...lists: readonly Ids[]): Ids {
  return lists.reduce((all, one) => {
    if (all === null || one === null) return all ?? one;
    return all.filter((id) => one.includes(id));
  }, null);
}

async function workspacesOf(
  db: Db,
  { organisationId }: Principal,
  slugs: readonly string[] | undefined,
): Promise<Ids> {
  if (slugs === undefined) return null;
  return await each(slugs, 'workspace_slug', async (slug) =>
    workspaces.findByIdOrSlug(db, organisationId, slug),
  );
}

async function configsOf(
  db: Db,
  { organisationId }: Principal,
  references: readonly string[] | undefined,
): Promise<Ids> {
  if (references === undefined) return null;
  return await each(references, 'configs', async (reference) =>
    configs.findByIdOrSlug(db, organisationId, reference),
  );
}

async function each(
  references: readonly string[],
  field: string,
  find: (reference: string) => Promise<{ readonly id: string } | undefined>,
): Promise<string[]> {
  const ids: string[] = [];
  for (const reference of references) {
    const row = await find(reference);
    if (row === undefined) throw unknownReference(field, reference);
    ids.push(row.id);
  }
  return ids;
}

/**
 * Workspaces of deployments. The log contains the workspace of a request but not the gateway that served it.
 */
async function workspacesServedBy(
  db: Db,
  { organisationId }: Principal,
  slugs: readonly string[] | undefined,
): Promise<Ids> {
  if (slugs === undefined) return null;
  const ids: string[] = [];
  for (const slug of slugs) {
    const deployment = await gatewayDeployments.findByIdOrSlug(db, organisationId, slug);
    if (deployment === undefined) throw unknownReference('deployment_slug', slug);
    if (deployment.allow_all_workspaces !== 0) return null;
    ids.push(...(JSON.parse(deployment.workspace_ids) as string[]));
  }
  return ids;
}

function unknownReference(field: string, reference: string): Error {
  const message = `contains an unknown reference: ${reference}`;
  return validationError({ path: ['filters', field], message });
}
