/** Creates, updates and deletes integrations, each in one transaction with its audit rows. */

import type { Sealer } from '../../auth/keyring.ts';
import type { Reply } from '../../http/routes/route.ts';
import type {
  DefaultProvider,
  IntegrationCreate,
  IntegrationUpdate,
} from '../../model/providers/integration.ts';
import { workspaceIntegrationFaults } from '../../model/providers/integration-access.ts';
import {
  integrationFaults,
  integrationWarnings,
} from '../../model/providers/integration-faults.ts';
import { integrationTargets } from '../../model/providers/integration-mappings.ts';
import { findAiProvider } from '../../model/services/ai-providers.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { newSlug } from '../../model/wire/slug.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrationWorkspaces from '../../store/resources/integration-workspaces.ts';
import * as integrations from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import { closeBudget } from '../access/budgets.ts';
import { resolveWorkspaceGrants } from '../access/granted-workspaces.ts';
import { resolveSecretMappings } from '../access/secret-mappings.ts';
import { type Author, recordChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type {
  BodyRequest,
  CreateFields,
  ItemRequest,
  UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { insertUnderSlug, writeUnderSlug } from '../request/slugs.ts';
import { withWarnings } from '../request/warnings.ts';
import { ensureProvider, providerSlugForm } from './default-provider.ts';
import { integrationScopes } from './integration-access.ts';
import {
  changeAccessBudget,
  closeAccessBudget,
  removeGrant,
  replacingAccess,
  writeIntegrationGrants,
} from './integration-grants.ts';
import { readIntegrationConfigurations, readModels } from './integration-record.ts';
import { requireMeantAddresses } from './integration-secrets.ts';
import { keyColumns, sealedConfigurations, sealedModels } from './integration-values.ts';

type CreateRequest = BodyRequest<IntegrationCreate & DefaultProvider & CreateFields>;
type UpdateRequest = BodyRequest<IntegrationUpdate & UpdateFields>;

export const integrationWriter: ResourceWriter<integrations.StoredIntegration> = {
  kind: 'Integration',
  param: 'integrationId',
  lock: integrations.findByIdOrSlugForUpdate,
  write: writeUnderSlug(integrations.update),
  admit: integrationScopes.require,
};

interface Ids {
  readonly id: string;
  readonly slug: string;
}

/** Returns the ids of the new integration. */
export async function createIntegration(
  deps: AdminDeps,
  request: CreateRequest,
): Promise<Ids | Reply<Ids>> {
  const { caller, body } = request;
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  const row = newRow(deps, sealer, request);
  const { id, slug } = await createResource(deps, request, 'Integration', async (tx, workspace) => {
    const placeless = { ...row, workspace_id: workspace?.id ?? null };
    const targets = integrationTargets(row.ai_provider);
    const mappings = await resolveSecretMappings(tx, placeless, body.secret_mappings, targets);
    const unnamed = { ...placeless, secret_mappings: writeDocument(mappings) };
    const { workspaces } = body;
    if (workspace !== null) rejectFaults(workspaceIntegrationFaults(body));
    integrationScopes.require(caller, unnamed, 'create');
    await requireMeantAddresses(tx, null, unnamed, body);
    const placed = await insertUnderSlug(providerSlugForm, body.slug, unnamed, (named) =>
      integrations.insert(tx, named),
    );
    const changes = { name: body.name, ai_provider: row.ai_provider };
    const stored = { before: null, after: placed.global_workspace_access };
    await changeAccessBudget(tx, { deps, author: request, integration: placed }, stored);
    if (workspaces !== undefined) {
      const grants = await resolveWorkspaceGrants(tx, caller.organisationId, workspaces);
      const writing = { deps, author: request, integration: placed, isWhole: true };
      await writeIntegrationGrants(tx, writing, grants);
    }
    if (workspace !== null && wantsProvider(body)) {
      const making = { deps, author: withoutOwner(request), integration: placed };
      await ensureProvider(tx, making, workspace.id, body.default_provider_slug);
    }
    return { row: placed, changes };
  });
  return withWarnings({ id, slug }, integrationWarnings(body, row.ai_provider));
}

/** By default only for resources without a manifest: manifests declare providers themselves. */
function wantsProvider(body: DefaultProvider & Pick<CreateFields, 'managed_by'>): boolean {
  return body.create_default_provider ?? body.managed_by === undefined;
}

/** Author of side effects, which no owner declares. */
export function withoutOwner({ caller, requestId, now }: Author): Author {
  return { caller, requestId, now, owner: null, fence: null };
}

/** The row of a new integration without slug, workspace and references. */
export function newRow(
  deps: AdminDeps,
  sealer: Sealer,
  {
    caller,
    body,
    now,
  }: Pick<AdminRequest, 'caller' | 'now'> & { readonly body: IntegrationCreate },
) {
  rejectFaults(integrationFaults(body, deps.trustedHosts));
  const id = newId();
  const none = { sealed_key: null, key_mask: null };
  return {
    id,
    organisation_id: caller.organisationId,
    name: body.name,
    description: emptyToNull(body.description),
    ai_provider: findAiProvider(body.ai_provider_id)!.slug,
    ...keyColumns(sealer, id, body.key, none),
    configurations: writeDocument(sealedConfigurations(sealer, id, body.configurations, null)),
    pricing_adjustments: writeDocument(body.pricing_adjustments),
    tags: writeDocument(body.tags),
    capabilities: writeDocument(body.capabilities),
    models: writeDocument(body.models && sealedModels(sealer, id, body.models, [])),
    allow_all_models: body.allow_all_models === false ? 0 : 1,
    global_workspace_access: writeDocument(body.global_workspace_access),
    creation_mode: 'api' as const,
    status: 'active' as const,
    owner_id: caller.id,
    created_at: now,
    last_updated_at: now,
  };
}

/** Returns warnings only. Absent fields stay, null clears. */
export async function updateIntegration(
  deps: AdminDeps,
  request: UpdateRequest,
): Promise<Record<string, never> | Reply<Record<string, never>>> {
  const { body, caller, params } = request;
  const slug = newSlug(body.slug, params.integrationId!);
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  const { ai_provider: service } = await updateResource(deps, request, integrationWriter, {
    columns: async (tx, row) => {
      rejectFaults(integrationFaults(body, deps.trustedHosts, row.ai_provider));
      if (row.workspace_id !== null) rejectFaults(workspaceIntegrationFaults(body));
      const targets = integrationTargets(row.ai_provider);
      const mappings = await resolveSecretMappings(tx, row, body.secret_mappings, targets);
      const secret_mappings = rewriteDocument(row.secret_mappings, mappings);
      const columns = { ...columnsOf(sealer, body, row), slug, secret_mappings };
      await requireMeantAddresses(tx, row, { ...row, ...definedOf(columns) }, body);
      return columns;
    },
    writeElsewhere: async (tx, row) => {
      if (body.workspaces === undefined) return [];
      const grants = await resolveWorkspaceGrants(tx, caller.organisationId, body.workspaces);
      const writing = { deps, author: request, integration: row, isWhole: true };
      return (await writeIntegrationGrants(tx, writing, grants)) ? ['workspaces'] : [];
    },
    follow: (tx, row, changed) => updateAccessBudget(tx, { deps, author: request }, row, changed),
  });
  return withWarnings({}, integrationWarnings(body, service));
}

/** Updates the budget of all workspaces to match the stored access settings. */
export async function updateAccessBudget(
  tx: Db,
  by: { readonly deps: AdminDeps; readonly author: Author },
  row: integrations.StoredIntegration,
  { global_workspace_access: after }: Partial<integrations.StoredIntegration>,
): Promise<void> {
  if (after === undefined) return;
  const stored = { before: row.global_workspace_access, after };
  await changeAccessBudget(tx, { ...by, integration: row }, stored);
}

/** Without the columns that stay. */
export function definedOf<T extends object>(columns: T): T {
  const defined = Object.entries(columns).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as T;
}

function columnsOf(
  sealer: Sealer,
  body: IntegrationUpdate,
  row: integrations.StoredIntegration,
): Partial<integrations.StoredIntegration> {
  const { id } = row;
  const stored = readIntegrationConfigurations(row);
  const configurations = sealedConfigurations(sealer, id, body.configurations, stored);
  const models = body.models && sealedModels(sealer, id, body.models, readModels(row));
  return {
    name: body.name,
    description: body.description === undefined ? row.description : emptyToNull(body.description),
    ...keyColumns(sealer, id, body.key, row),
    configurations: rewriteDocument(row.configurations, configurations),
    pricing_adjustments: rewriteDocument(row.pricing_adjustments, body.pricing_adjustments),
    tags: rewriteDocument(row.tags, body.tags),
    capabilities: rewriteDocument(row.capabilities, body.capabilities),
    models: rewriteDocument(row.models, models),
    allow_all_models:
      body.allow_all_models === undefined ? undefined : Number(body.allow_all_models),
    global_workspace_access: rewriteDocument(
      row.global_workspace_access,
      replacingAccess(body.global_workspace_access, row.global_workspace_access),
    ),
  };
}

/** Returns `{}`. Automatically created providers are deleted too; any other provider blocks the delete. */
export async function deleteIntegration(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  return deleteResource(deps, request, integrationWriter, async (tx, row) => {
    const { organisation_id: organisationId, id } = row;
    const using = await providers.listByIntegrationForUpdate(tx, organisationId, id);
    const blocking = using.find(({ creation_mode: mode }) => mode === 'api');
    if (blocking !== undefined) {
      throw new ApiError('conflict', `The provider ${blocking.slug} uses this integration`);
    }
    for (const provider of using) await removeProvider(tx, deps, withoutOwner(request), provider);
    for (const grant of await integrationWorkspaces.listByIntegration(tx, organisationId, id)) {
      await removeGrant(tx, grant);
    }
    await closeAccessBudget(tx, row);
    await integrations.deleteById(tx, organisationId, id);
    return { name: row.name, providers: using.length };
  });
}

async function removeProvider(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  { id, organisation_id: organisationId, workspace_id: workspaceId }: providers.StoredProvider,
): Promise<void> {
  await providers.deleteById(tx, organisationId, id);
  await closeBudget(tx, { organisationId, kind: 'provider', id });
  await recordChange(tx, deps, author, {
    action: 'delete',
    kind: 'Provider',
    resourceId: id,
    workspaceId,
    changes: { with_integration: true },
  });
}
