/** Knows which requests an export is about: what its filters name, and what its author may see. */
import type { Principal } from '../../../auth/principal.ts';
import type { ExportFilters, ExportSelection } from '../../../model/logs/log-export.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { Db } from '../../../store/connection/db.ts';
import * as configs from '../../../store/resources/configs.ts';
import * as gatewayDeployments from '../../../store/resources/gateway-deployments.ts';
import type { StoredWorkspace } from '../../../store/resources/workspaces.ts';
import * as workspaces from '../../../store/resources/workspaces.ts';
import { exportableKeys } from './export-access.ts';

/** @throws ApiError `invalid` for what is not there or ends before it begins, `forbidden` for who may not see the log */
export async function selectionOf(
  db: Db,
  caller: Principal,
  workspace: StoredWorkspace | null,
  filters: ExportFilters,
): Promise<ExportSelection> {
  const visible = await exportableKeys(db, caller, workspace);
  const { time_of_generation_min: min, time_of_generation_max: max } = filters;
  if (min > max) {
    const path = ['filters', 'time_of_generation_min'];
    throw validationError({ path, message: 'must not lie after the end' });
  }
  const asked = filters.api_key_ids?.map((id) => id.toLowerCase()) ?? null;
  return {
    workspaceIds: common(
      ...[workspace === null ? null : [workspace.id]],
      await workspacesOf(db, caller, filters.workspace_slug),
      await servedBy(db, caller, filters.deployment_slug),
    ),
    configIds: await configsOf(db, caller, filters.configs),
    apiKeyIds: common(visible, asked),
  };
}

type Ids = readonly string[] | null;

/** What all of them hold; null is everything. */
function common(...lists: readonly Ids[]): Ids {
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
    const found = await find(reference);
    if (found === undefined) throw notThere(field, reference);
    ids.push(found.id);
  }
  return ids;
}

/** The log does not tell which gateway has served a request, but in which workspace it was made. */
async function servedBy(
  db: Db,
  { organisationId }: Principal,
  slugs: readonly string[] | undefined,
): Promise<Ids> {
  if (slugs === undefined) return null;
  const ids: string[] = [];
  for (const slug of slugs) {
    const found = await gatewayDeployments.findByIdOrSlug(db, organisationId, slug);
    if (found === undefined) throw notThere('deployment_slug', slug);
    if (found.allow_all_workspaces !== 0) return null;
    ids.push(...(JSON.parse(found.workspace_ids) as string[]));
  }
  return ids;
}

function notThere(field: string, reference: string): Error {
  const message = `names what is not there: ${reference}`;
  return validationError({ path: ['filters', field], message });
}
