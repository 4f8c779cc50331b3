/** Creates, updates and archives deployments, each in one transaction with its audit row. */

import { makeApiKey, maskApiKey } from '../../model/people/credentials.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import {
  applyDeclaredSettings,
  applySettings,
  type DeploymentState,
  initialDeploymentState,
  mapWorkspaceReferences,
  retainDeclaration,
} from '../../model/workspaces/deployment-settings.ts';
import {
  type DeploymentAuthSettingsUpdate,
  type DeploymentCreate,
  type DeploymentUpdate,
  deploymentSlugForm,
} from '../../model/workspaces/gateway-deployment.ts';
import type { Db } from '../../store/connection/db.ts';
import * as gatewayDeployments from '../../store/resources/gateway-deployments.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  namesOfSentFields,
  type UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { authInBothFormats, readDeploymentState } from './deployment-record.ts';

type DeploymentRow = gatewayDeployments.StoredGatewayDeployment;
type DeploymentResource = DeploymentRow & { readonly workspace_id: null };

/** The credential of the deployment is returned only here. */
export async function createDeployment(
  deps: AdminDeps,
  request: BodyRequest<DeploymentCreate & CreateFields>,
) {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  const { organisationId } = caller;
  const auth = newAuth(deps);
  const isDeclared = body.managed_by !== undefined;
  const row = await createResource(deps, request, 'Deployment', async (tx) => {
    if (body.is_default === true) await organisationLocks.lock(tx, organisationId);
    const settled = await settingColumns(
      tx,
      organisationId,
      initialDeploymentState,
      body.auth_settings ?? {},
      {
        replaces: true,
        isDeclared,
      },
    );
    const unnamed = {
      id: newId(),
      organisation_id: organisationId,
      name: body.name,
      type: body.type ?? ('production' as const),
      status: 'active' as const,
      source_type: body.source_type ?? null,
      is_default: Number(body.is_default === true),
      ...settled,
      deployment_config: writeDocument(body.deployment_config),
      tags: writeDocument(body.tags),
      ...auth.columns,
      created_by: caller.id,
      version: 1,
      created_at: now,
      last_updated_at: now,
    };
    // An archived deployment may return under the slug that its manifest declares.
    if (isDeclared && body.slug !== undefined) {
      await gatewayDeployments.freeArchivedSlug(tx, organisationId, body.slug);
    }
    const placed = await insertUnderSlug(deploymentSlugForm, body.slug, unnamed, (named) =>
      gatewayDeployments.insert(tx, named),
    );
    if (body.is_default === true) {
      await gatewayDeployments.clearDefaults(
        tx,
        organisationId,
        placed.id,
        body.managed_by?.owner ?? null,
      );
    }
    return { row: { ...placed, workspace_id: null }, changes: { fields: namesOfSentFields(body) } };
  });
  const { id, slug } = row;
  const ids = { id, slug, organisation_id: organisationId, object: 'deployment' as const };
  return { ...ids, ...authInBothFormats(row, auth.value) };
}

/**
 * Writer for updates. With `isAlone` it locks the organisation, because a new default changes the others.
 */
function createWriter({ isAlone = false } = {}): ResourceWriter<DeploymentResource> {
  return {
    kind: 'Deployment',
    param: 'deploymentId',
    lock: async (tx, organisationId, reference) => {
      if (isAlone) await organisationLocks.lock(tx, organisationId);
      const row = await gatewayDeployments.findByIdOrSlugForUpdate(tx, organisationId, reference);
      return row && { ...row, workspace_id: null };
    },
    write: (tx, organisationId, id, { workspace_id: _, ...columns }) =>
      gatewayDeployments.update(tx, organisationId, id, columns),
  };
}

/** Returns a new credential if one was requested. Absent fields stay, null clears. */
export async function updateDeployment(
  deps: AdminDeps,
  request: BodyRequest<DeploymentUpdate & UpdateFields>,
) {
  const { body, caller } = request;
  const { organisationId } = caller;
  const auth = body.rotate_auth === true ? newAuth(deps) : null;
  const isDeclared = body.managed_by !== undefined;
  const course = createWriter({ isAlone: body.is_default === true });
  const row = await updateResource(deps, request, course, {
    columns: async (tx, stored) => ({
      name: body.name,
      type: body.type === null ? 'production' : body.type,
      status: body.status,
      source_type: body.source_type,
      is_default: body.is_default === undefined ? undefined : Number(body.is_default),
      ...(body.auth_settings === undefined
        ? {}
        : await settingColumns(
            tx,
            organisationId,
            readDeploymentState(stored),
            body.auth_settings,
            {
              replaces: body.override_existing === true,
              isDeclared,
            },
          )),
      deployment_config: rewriteDocument(stored.deployment_config, body.deployment_config),
      tags: rewriteDocument(stored.tags, body.tags),
    }),
    ...(auth === null ? {} : { stamp: auth.columns, writeElsewhere: async () => ['client_auth'] }),
    follow: async (tx, { id }, changed) => {
      if (changed.is_default === 1) {
        await gatewayDeployments.clearDefaults(
          tx,
          organisationId,
          id,
          body.managed_by?.owner ?? null,
        );
      }
      // Ownership ends, because manifests cannot declare archived deployments.
      if (changed.status === 'archived') {
        await managedResources.deleteByResource(tx, organisationId, 'Deployment', id);
      }
    },
  });
  return auth === null ? {} : authInBothFormats(row, auth.value);
}

/** Returns `{}`. Archiving an archived deployment changes nothing. */
export async function archiveDeployment(
  deps: AdminDeps,
  request: Parameters<typeof deleteResource>[1],
): Promise<Record<string, never>> {
  const { caller, params, now, ifMatch } = request;
  const { readable } = deps.database;
  const row = await gatewayDeployments.findByIdOrSlug(
    readable,
    caller.organisationId,
    params.deploymentId!,
  );
  const isArchived = row?.status === 'archived' && caller.workspaceId === null;
  if (isArchived && (ifMatch ?? row.version) === row.version) return {};
  return deleteResource(deps, request, createWriter(), async (tx, locked) => {
    const columns = { status: 'archived' as const, is_default: 0, last_updated_at: now };
    await gatewayDeployments.update(tx, locked.organisation_id, locked.id, columns);
    return { name: locked.name };
  });
}

function newAuth({ keyring, apiKeyPrefix }: AdminDeps) {
  const value = makeApiKey(apiKeyPrefix);
  const columns = {
    client_auth_hash: keyring.hashCredential(value),
    client_auth_mask: maskApiKey(value),
  };
  return { value, columns };
}

/** Columns of the settings; locks the workspaces that they name until the transaction ends. */
async function settingColumns(
  tx: Db,
  organisationId: string,
  before: DeploymentState,
  sent: DeploymentAuthSettingsUpdate | null,
  { replaces, isDeclared }: { readonly replaces: boolean; readonly isDeclared: boolean },
) {
  const { workspaces_allowed: allowed, remove_workspaces_allowed: removed } = sent ?? {};
  const mapped = Object.values(sent?.jwt_sub_workspace_mapping ?? {});
  const references = [...new Set([...(allowed ?? []), ...(removed ?? []), ...mapped])];
  const found = await workspaces.listByReferencesForShare(tx, organisationId, references);
  const ids = new Map(found.flatMap(({ id, slug }) => [[id, id] as const, [slug, id] as const]));
  const idOf = (reference: string): string => {
    const id = ids.get(reference) ?? ids.get(reference.toLowerCase());
    if (id !== undefined) return id;
    const message = `refers to an unknown workspace: ${reference}`;
    throw validationError({ path: ['auth_settings'], message });
  };
  const after = isDeclared
    ? applyDeclaredSettings(before, sent && mapWorkspaceReferences(sent, idOf))
    : retainDeclaration(before, applySettings(before, sent ?? cleared, replaces, idOf));
  return {
    auth_settings: rewriteDocument(JSON.stringify(before.settings), after.settings),
    allow_all_workspaces: Number(after.served.isOpen),
    workspace_ids: JSON.stringify(after.served.workspaceIds),
  };
}

/** The update that null stands for: clears every setting. */
const cleared: DeploymentAuthSettingsUpdate = {
  gateway_base_url: null,
  mcp_gateway_base_url: null,
  is_dataservice_hosted: null,
  is_playground_proxy_allowed: null,
  workspaces_allowed: null,
  jwt_subs_allowed: null,
  jwt_sub_workspace_mapping: null,
};
