/** Converts integrations to API records and to the body that would create them again. */
import { z } from 'zod';
import {
  configurationSecretLocations,
  keyContext,
  modelSecretLocations,
} from '../../auth/integration-secrets.ts';
import { fingerprintMark, fingerprintSecrets, maskSecrets } from '../../auth/secret-values.ts';
import { GrantUsageLimits, WorkspaceRateLimits } from '../../model/limits/workspace-limits.ts';
import {
  IntegrationConfigurations as Configurations,
  type IntegrationConfigurations,
  type ModelSetting,
  PricingAdjustments,
  type WorkspaceGrant,
} from '../../model/providers/integration.ts';
import { readAccess } from '../../model/providers/integration-access.ts';
import {
  mappingsAsSent,
  mappingsForSnapshot,
  SecretMapping,
} from '../../model/secrets/secret-mapping.ts';
import { aiProviders } from '../../model/services/ai-providers.ts';
import { Capabilities } from '../../model/services/capabilities.ts';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredIntegrationWorkspace } from '../../store/resources/integration-workspaces.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import type { SpecSecrets } from '../request/resource.ts';

/** Access of workspaces without a grant of their own. */
export const GlobalAccess = z.object({
  enabled: z.boolean(),
  usage_limits: GrantUsageLimits,
  rate_limits: WorkspaceRateLimits,
});

/** Items of the list. */
export const IntegrationItem = z.object({
  id: z.uuid(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  type: z.enum(['organisation', 'workspace']),
  /** A slug on v1, an id elsewhere. */
  ai_provider_id: z.string(),
  name: z.string(),
  slug: z.string(),
  description: z.string().nullable(),
  status: z.enum(['active', 'archived']),
  tags: JsonRecord.nullable(),
  /** Number of workspaces with an enabled grant. */
  workspaces_count: z.int().min(0),
  owner_id: z.uuid(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('integration'),
});

/** Response of get. */
export const IntegrationRecord = IntegrationItem.extend({
  masked_key: z.string().nullable(),
  configurations: Configurations,
  global_workspace_access_settings: GlobalAccess,
  allow_all_models: z.boolean(),
  workspace_count: z.int().min(0),
  secret_mappings: z.array(SecretMapping),
  pricing_adjustments: PricingAdjustments.nullable(),
  capabilities: Capabilities.nullable(),
});

/** Whether a mount identifies services by slug or by id. */
export type ServiceForm = 'slug' | 'id';

/** `workspacesCount` is the number of enabled grants. */
export function integrationToItem(
  row: StoredIntegration,
  workspacesCount: number,
  form: ServiceForm,
): z.infer<typeof IntegrationItem> {
  const { ai_provider: service } = row;
  return {
    id: row.id,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    type: row.workspace_id === null ? 'organisation' : 'workspace',
    ai_provider_id: form === 'slug' ? service : (aiProviders.get(service)?.id ?? service),
    name: row.name,
    slug: row.slug,
    description: row.description,
    status: row.status,
    tags: readDocument<JsonRecord>(row.tags),
    workspaces_count: row.workspace_id === null ? workspacesCount : 1,
    owner_id: row.owner_id,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'integration',
  };
}

/** Contains no secret. */
export function integrationToRecord(
  row: StoredIntegration,
  workspacesCount: number,
  form: ServiceForm,
): z.infer<typeof IntegrationRecord> {
  const item = integrationToItem(row, workspacesCount, form);
  return {
    ...item,
    masked_key: row.key_mask,
    configurations: maskSecrets(
      configurationSecretLocations(row.id),
      readIntegrationConfigurations(row) ?? {},
    ),
    global_workspace_access_settings: globalAccessOf(row),
    allow_all_models: row.allow_all_models !== 0,
    workspace_count: item.workspaces_count,
    secret_mappings: mappingsAsSent(row.secret_mappings),
    pricing_adjustments: readDocument<PricingAdjustments>(row.pricing_adjustments),
    capabilities: readDocument<Capabilities>(row.capabilities),
  };
}

/** Closed for an integration of one workspace. */
export function globalAccessOf(row: StoredIntegration): z.infer<typeof GlobalAccess> {
  const { enabled, usage_limits, rate_limits } = readAccess(row.global_workspace_access);
  return {
    enabled: row.workspace_id === null && enabled,
    usage_limits: usage_limits ?? [],
    rate_limits: rate_limits ?? [],
  };
}

/** An integration with its workspace grants. */
export interface GrantedIntegration extends StoredIntegration {
  readonly grants: readonly StoredIntegrationWorkspace[];
}

/**
 * The body that would create this integration, without absent fields; secrets are replaced by fingerprints.
 */
export function integrationToSpec(
  row: GrantedIntegration,
  secrets: SpecSecrets,
): Record<string, unknown> {
  const { unsealer, fingerprintKey } = secrets;
  const { id, sealed_key: key } = row;
  const configurations = readIntegrationConfigurations(row);
  const models = readModels(row).map((model) => modelSpec(id, model, secrets));
  const grants = row.grants.map(grantSpec);
  return omitNulls({
    name: row.name,
    slug: row.slug,
    ai_provider_id: row.ai_provider,
    workspace_id: row.workspace_id,
    description: row.description,
    key: key === null ? null : fingerprintMark(unsealer, fingerprintKey, key, keyContext(id)),
    configurations:
      configurations &&
      fingerprintSecrets(
        unsealer,
        fingerprintKey,
        configurationSecretLocations(id),
        configurations,
      ),
    secret_mappings: mappingsForSnapshot(row.secret_mappings),
    pricing_adjustments: readDocument(row.pricing_adjustments),
    tags: readDocument(row.tags),
    capabilities: readDocument(row.capabilities),
    allow_all_models: row.allow_all_models !== 0,
    models: models.length === 0 ? null : models,
    global_workspace_access: accessSpec(row),
    workspaces: grants.length === 0 ? null : grants,
  });
}

function modelSpec(
  integrationId: string,
  { configurations, ...setting }: ModelSetting,
  { unsealer, fingerprintKey }: SpecSecrets,
): Record<string, unknown> {
  const places = modelSecretLocations(integrationId, setting.slug);
  return omitNulls({
    ...setting,
    configurations:
      configurations && fingerprintSecrets(unsealer, fingerprintKey, places, configurations),
  });
}

function accessSpec({
  global_workspace_access: stored,
}: StoredIntegration): Record<string, unknown> | null {
  if (stored === null) return null;
  const { usage_limits: usageLimits, ...rest } = readAccess(stored);
  return omitNulls({ ...rest, usage_limits: budgetSpec(usageLimits) });
}

function grantSpec(row: StoredIntegrationWorkspace): Record<string, unknown> {
  const usageLimits = readDocument<NonNullable<WorkspaceGrant['usage_limits']>>(row.usage_limits);
  return omitNulls({
    id: row.workspace_id,
    enabled: row.enabled !== 0,
    usage_limits: budgetSpec(usageLimits),
    rate_limits: readDocument(row.rate_limits),
  });
}

/** Manifests contain a budget alone, not in a list. */
function budgetSpec(limits: WorkspaceGrant['usage_limits']): object | null {
  const [budget] = limits ?? [];
  return budget === undefined ? null : omitNulls(budget);
}

/** The stored configurations with sealed secrets. */
export function readIntegrationConfigurations(
  row: Pick<StoredIntegration, 'configurations'>,
): IntegrationConfigurations | null {
  return readDocument<IntegrationConfigurations>(row.configurations);
}

/** Settings of single models with sealed secrets. */
export function readModels(row: Pick<StoredIntegration, 'models'>): ModelSetting[] {
  return readDocument<ModelSetting[]>(row.models) ?? [];
}
