/** Knows how deployments are made, changed and archived: each in one transaction with its audit row. */

import { makeApiKey, maskApiKey } from '../../model/credentials.ts';
import { ApiError } from '../../model/errors.ts';
import {
  type AuthSettingsUpdate,
  type DeploymentCreate,
  type DeploymentUpdate,
  deploymentSlugForm,
  type Served,
  type StoredSettings,
  settingsAfter,
} from '../../model/gateway-deployment.ts';
import { newId } from '../../model/ids.ts';
import { rewriteDocument, writeDocument } from '../../model/json-record.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as gatewayDeployments from '../../store/tables/gateway-deployments.ts';
import * as organisationLocks from '../../store/tables/organisation-locks.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { type BodyRequest, requireUpdate, sentFields } from '../request/frame-fields.ts';
import { requireOwnOrganisation } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { requireVersion } from '../request/version.ts';
import { readSettings, readWorkspaceIds, shownAuth } from './deployment-record.ts';

type Stored = gatewayDeployments.StoredGatewayDeployment;

const unsettled: { settings: StoredSettings; served: Served } = {
  settings: {},
  served: { isOpen: true, workspaceIds: [] },
};

/** What it says who it is by is told this once. */
export async function create(
  deps: AdminDeps,
  request: BodyRequest<DeploymentCreate & { readonly organisation_id?: string | undefined }>,
) {
  const { body, caller, now } = request;
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  requireOwnOrganisation(caller, body.organisation_id);
  const { organisationId } = caller;
  const auth = newAuth(deps);
  const row = await deps.database.transaction(async (tx) => {
    if (body.is_default === true) await organisationLocks.lock(tx, organisationId);
    const settled = await settle(tx, organisationId, unsettled, body.auth_settings ?? {}, true);
    const unnamed = {
      ...{ id: newId(), organisation_id: organisationId, name: body.name },
      type: body.type ?? ('production' as const),
      status: 'active' as const,
      source_type: body.source_type ?? null,
      is_default: Number(body.is_default === true),
      ...settled,
      deployment_config: writeDocument(body.deployment_config),
      tags: writeDocument(body.tags),
      ...auth.columns,
      ...{ created_by: caller.id, version: 1, created_at: now, last_updated_at: now },
    };
    const placed = await insertUnderSlug(deploymentSlugForm, body.slug, unnamed, (given) =>
      gatewayDeployments.insert(tx, given),
    );
    if (body.is_default === true) {
      await gatewayDeployments.clearDefaults(tx, organisationId, placed.id);
    }
    await audit(tx, deps, request, 'create', placed.id, { fields: sentFields(body) });
    return placed;
  });
  const { id, slug } = row;
  const made = { id, slug, organisation_id: organisationId, object: 'deployment' as const };
  return { ...made, ...shownAuth(row, auth.value) };
}

/** Answers the new value where one was asked for. Absent fields stay, null clears. */
export async function update(deps: AdminDeps, request: BodyRequest<DeploymentUpdate>) {
  const { body, caller, now } = request;
  requireUpdate(body);
  const { organisationId } = caller;
  const auth = body.rotate_auth === true ? newAuth(deps) : null;
  return deps.database.transaction(async (tx) => {
    if (body.is_default === true) await organisationLocks.lock(tx, organisationId);
    const row = await lockRow(tx, request);
    const before = {
      settings: readSettings(row),
      served: { isOpen: row.allow_all_workspaces !== 0, workspaceIds: readWorkspaceIds(row) },
    };
    const sent = body.auth_settings;
    const settled =
      sent && (await settle(tx, organisationId, before, sent, body.override_existing === true));
    const wanted: Partial<Stored> = {
      name: body.name ?? row.name,
      type: body.type ?? row.type,
      status: body.status ?? row.status,
      source_type: body.source_type === undefined ? row.source_type : body.source_type,
      is_default: body.is_default === undefined ? row.is_default : Number(body.is_default),
      ...settled,
      deployment_config: rewriteDocument(row.deployment_config, body.deployment_config),
      tags: rewriteDocument(row.tags, body.tags),
      ...auth?.columns,
    };
    const names = Object.keys(wanted) as (keyof Stored)[];
    const fields = names.filter((name) => wanted[name] !== row[name]);
    if (fields.length > 0) {
      const columns = { ...wanted, last_updated_at: now };
      await gatewayDeployments.update(tx, organisationId, row.id, columns);
      if (wanted.is_default === 1) {
        await gatewayDeployments.clearDefaults(tx, organisationId, row.id);
      }
      const told = fields.filter((name) => !name.startsWith('client_auth'));
      const changes = { fields: auth === null ? told : [...told, 'client_auth'] };
      await audit(tx, deps, request, 'update', row.id, changes);
    }
    return auth === null ? {} : shownAuth(row, auth.value);
  });
}

/** Answers `{}`. What is archived already stays so. */
export async function archive(
  deps: AdminDeps,
  request: AdminRequest,
): Promise<Record<string, never>> {
  const { caller, now } = request;
  await deps.database.transaction(async (tx) => {
    const row = await lockRow(tx, request);
    if (row.status === 'archived') return;
    const columns = { status: 'archived' as const, is_default: 0, last_updated_at: now };
    await gatewayDeployments.update(tx, caller.organisationId, row.id, columns);
    await audit(tx, deps, request, 'delete', row.id, { name: row.name });
  });
  return {};
}

/** Whoever is bound to a workspace finds none to change. */
async function lockRow(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'params' | 'ifMatch'>,
): Promise<Stored> {
  const { caller, params } = request;
  if (caller.workspaceId !== null) throw new ApiError('notFound');
  const found = await gatewayDeployments.findByIdOrSlugForUpdate(
    ...([tx, caller.organisationId, params.deploymentId!] as const),
  );
  if (found === undefined) throw new ApiError('notFound');
  requireVersion(request, found.version);
  return found;
}

function newAuth({ keyring, apiKeyPrefix }: AdminDeps) {
  const value = makeApiKey(apiKeyPrefix);
  const columns = {
    client_auth_hash: keyring.hashCredential(value),
    client_auth_mask: maskApiKey(value),
  };
  return { value, columns };
}

/** The columns of the settings; workspaces that are named stay until the transaction ends. */
async function settle(
  tx: Db,
  organisationId: string,
  before: { readonly settings: StoredSettings; readonly served: Served },
  sent: AuthSettingsUpdate,
  replaces: boolean,
) {
  const { workspaces_allowed: allowed = [], remove_workspaces_allowed: removed = [] } = sent;
  const mapped = Object.values(sent.jwt_sub_workspace_mapping ?? {});
  const references = [...new Set([...allowed, ...removed, ...mapped])];
  const found = await workspaces.listByReferencesForShare(tx, organisationId, references);
  const ids = new Map(found.flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]));
  const idOf = (reference: string): string => {
    const id = ids.get(reference) ?? ids.get(reference.toLowerCase());
    if (id !== undefined) return id;
    const message = `names a workspace that is not there: ${reference}`;
    throw validationError({ path: ['auth_settings'], message });
  };
  const { settings, served } = settingsAfter(before, sent, replaces, idOf);
  return {
    auth_settings: JSON.stringify(settings),
    allow_all_workspaces: Number(served.isOpen),
    workspace_ids: JSON.stringify(served.workspaceIds),
  };
}

function audit(
  tx: Db,
  deps: AdminDeps,
  request: Pick<AdminRequest, 'caller' | 'now' | 'requestId'>,
  action: 'create' | 'update' | 'delete',
  resourceId: string,
  changes: Record<string, unknown>,
): Promise<void> {
  const change = { action, kind: 'Deployment' as const, resourceId, workspaceId: null, changes };
  return auditChange(tx, deps, request, change);
}
