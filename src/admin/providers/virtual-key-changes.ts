/** Creates, updates and deletes virtual keys: a provider together with an integration of its own. */
import { configurationSecretLocations } from '../../auth/integration-secrets.ts';
import type { Sealer } from '../../auth/keyring.ts';
import { maskSecrets } from '../../auth/secret-values.ts';
import { aiProviderFault } from '../../model/providers/integration-faults.ts';
import { integrationTargets } from '../../model/providers/integration-mappings.ts';
import {
  accountConfigurations,
  type VirtualKeyCreate,
  type VirtualKeyUpdate,
} from '../../model/providers/virtual-key.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { faultAt } from '../../model/wire/fault.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as integrations from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import { resolveSecretMappings } from '../access/secret-mappings.ts';
import { recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  type ItemRequest,
  namesOfSentFields,
  type UpdateFields,
} from '../request/frame-fields.ts';
import { createResource, deleteResource } from '../request/resource-change.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { providerSlugForm } from './default-provider.ts';
import { definedOf, newRow, withoutOwner } from './integration-changes.ts';
import { readIntegrationConfigurations } from './integration-record.ts';
import { requireMeantAddresses } from './integration-secrets.ts';
import { keyColumns, sealedConfigurations } from './integration-values.ts';
import {
  createProviderWriter,
  deleteProviderRow,
  insertProvider,
  newTerms,
  requirePlace,
  updateProvider,
} from './provider-changes.ts';

/** Returns the new provider. */
export async function createVirtualKey(
  deps: AdminDeps,
  request: BodyRequest<VirtualKeyCreate & CreateFields>,
): Promise<{ id: string; slug: string }> {
  const { caller, body, now } = request;
  const { name, provider, key, secret_mappings } = body;
  rejectFaults(faultAt('provider', aiProviderFault(provider)));
  const terms = newTerms(body, now);
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  const configurations = accountConfigurations(body);
  const account = { name, ai_provider_id: provider, key, configurations };
  const unplaced = { ...newRow(deps, sealer, { caller, now, body: account }), ...ofKey };
  return createResource(deps, request, 'Provider', async (tx, workspace) => {
    const { id: workspaceId } = requirePlace(workspace);
    const placeless = { ...unplaced, workspace_id: workspaceId };
    const targets = integrationTargets(unplaced.ai_provider);
    const mappings = await resolveSecretMappings(tx, placeless, secret_mappings, targets);
    const unnamed = { ...placeless, secret_mappings: writeDocument(mappings) };
    await requireMeantAddresses(tx, null, unnamed, {});
    const integration = await insertUnderSlug(providerSlugForm, undefined, unnamed, (named) =>
      integrations.insert(tx, named),
    );
    const changes = { name, with_provider: true };
    await recordIntegration(tx, deps, request, { action: 'create', integration, changes });
    const place = { workspaceId, integration };
    const row = await insertProvider(tx, place, { ...body, ...terms }, now);
    return { row, changes: { fields: namesOfSentFields(body), integration: integration.slug } };
  });
}

const ofKey = { creation_mode: 'auto' as const };

/** Absent fields stay, null clears. Account fields are written to the key's own integration. */
export async function updateVirtualKey(
  deps: AdminDeps,
  request: BodyRequest<VirtualKeyUpdate & UpdateFields>,
): Promise<providers.StoredProvider> {
  const { body, caller } = request;
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  return updateProvider(deps, request, async (tx, row) => {
    const { key, secret_mappings: mappings } = body;
    const saysNothing = [key, mappings, accountConfigurations(body)].every(
      (one) => one === undefined,
    );
    if (saysNothing) return [];
    const integration = await ownIntegration(tx, row);
    if (integration === undefined) {
      const message = 'The account of this key belongs to a shared integration; change it there';
      throw new ApiError('conflict', message);
    }
    return changeAccount(tx, deps, request, { sealer, integration });
  });
}

/** Returns the names of the fields that changed. */
async function changeAccount(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<VirtualKeyUpdate & UpdateFields>,
  on: { readonly sealer: Sealer; readonly integration: integrations.StoredIntegration },
): Promise<readonly string[]> {
  const { body, now } = request;
  const { sealer, integration } = on;
  const stored = readIntegrationConfigurations(integration);
  const sent = accountConfigurations(body);
  const masked = stored && maskSecrets(configurationSecretLocations(integration.id), stored);
  const merged = sent === undefined ? undefined : { ...masked, ...sent };
  const configurations = sealedConfigurations(sealer, integration.id, merged, stored);
  const targets = integrationTargets(integration.ai_provider);
  const mappings = await resolveSecretMappings(tx, integration, body.secret_mappings, targets);
  const newColumns = {
    ...keyColumns(sealer, integration.id, body.key, integration),
    configurations: rewriteDocument(integration.configurations, configurations),
    secret_mappings: rewriteDocument(integration.secret_mappings, mappings),
  };
  const columns = Object.keys(newColumns) as (keyof typeof newColumns)[];
  const fields = columns.filter(
    (column) => newColumns[column] !== undefined && newColumns[column] !== integration[column],
  );
  if (fields.length === 0) return [];
  const after = { ...integration, ...definedOf(newColumns) };
  await requireMeantAddresses(tx, integration, after, { key: body.key, configurations: merged });
  const { organisation_id: organisationId, id } = integration;
  await integrations.update(tx, organisationId, id, { ...newColumns, last_updated_at: now });
  const changes = { fields, with_provider: true };
  await recordIntegration(tx, deps, request, { action: 'update', integration, changes });
  return fields;
}

/** Returns `{}`. Deletes the integration created with the key, unless another provider uses it. */
export async function deleteVirtualKey(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  const { caller, query } = request;
  return deleteResource(
    deps,
    request,
    createProviderWriter(caller, query.workspace_id),
    async (tx, row) => {
      const { organisation_id: organisationId } = row;
      const integration = await ownIntegration(tx, row);
      await deleteProviderRow(tx, row);
      if (integration === undefined) return { name: row.name };
      const { id } = integration;
      const others = await providers.listByIntegrationForUpdate(tx, organisationId, id);
      if (others.length > 0) return { name: row.name };
      await integrations.deleteById(tx, organisationId, id);
      const changes = { name: integration.name, with_provider: true };
      await recordIntegration(tx, deps, request, { action: 'delete', integration, changes });
      return { name: row.name, integration: integration.slug };
    },
  );
}

/** The integration created with a key, locked until the transaction ends. */
async function ownIntegration(
  tx: Db,
  { organisation_id: organisationId, integration_id: id }: providers.StoredProvider,
): Promise<integrations.StoredIntegration | undefined> {
  const integration = await integrations.findByIdOrSlugForUpdate(tx, organisationId, id);
  return integration?.creation_mode === 'auto' ? integration : undefined;
}

/** Writes the audit row of an integration that changes with its key. */
async function recordIntegration(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<unknown> | ItemRequest,
  change: {
    readonly action: 'create' | 'update' | 'delete';
    readonly integration: Pick<integrations.StoredIntegration, 'id' | 'workspace_id'>;
    readonly changes: Record<string, unknown>;
  },
): Promise<void> {
  const { action, integration, changes } = change;
  const { id: resourceId, workspace_id: workspaceId } = integration;
  await recordChange(tx, deps, withoutOwner(request), {
    action,
    kind: 'Integration',
    resourceId,
    workspaceId,
    changes,
  });
}
