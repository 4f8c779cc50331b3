/** Knows what the API tells about an integration, and the body that would make it again. */
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
import { JsonRecord, readDocument, withoutNulls } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredIntegrationWorkspace } from '../../store/resources/integration-workspaces.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import type { SpecSecrets } from '../request/resource.ts';

/** What holds of workspaces that are not named. */
export const ToldAccess = z.object({
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
  /** Of workspaces that are let in by name. */
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
  global_workspace_access_settings: ToldAccess,
  allow_all_models: z.boolean(),
  workspace_count: z.int().min(0),
  secret_mappings: z.array(SecretMapping),
  pricing_adjustments: PricingAdjustments.nullable(),
  capabilities: Capabilities.nullable(),
});

/** How a plane names services. */
export type ServiceForm = 'slug' | 'id';

/** `workspacesCount` are let in by name. */
export function toItem(
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

/** No secret is in it. */
export function toRecord(
  row: StoredIntegration,
  workspacesCount: number,
  form: ServiceForm,
): z.infer<typeof IntegrationRecord> {
  const item = toItem(row, workspacesCount, form);
  return {
    ...item,
    masked_key: row.key_mask,
    configurations: maskSecrets(
      configurationSecretLocations(row.id),
      readConfigurations(row) ?? {},
    ),
    global_workspace_access_settings: toldAccess(row),
    allow_all_models: row.allow_all_models !== 0,
    workspace_count: item.workspaces_count,
    secret_mappings: mappingsAsSent(row.secret_mappings),
    pricing_adjustments: readDocument<PricingAdjustments>(row.pricing_adjustments),
    capabilities: readDocument<Capabilities>(row.capabilities),
  };
}

/** One of a workspace is nobody else's. */
export function toldAccess(row: StoredIntegration): z.infer<typeof ToldAccess> {
  const { enabled, usage_limits, rate_limits } = readAccess(row.global_workspace_access);
  return {
    enabled: row.workspace_id === null && enabled,
    usage_limits: usage_limits ?? [],
    rate_limits: rate_limits ?? [],
  };
}

/** An integration with what it says of workspaces. */
export interface GrantedIntegration extends StoredIntegration {
  readonly grants: readonly StoredIntegrationWorkspace[];
}

/** The body that would create this integration, sparse; secrets stand in it as fingerprints. */
export function toSpec(row: GrantedIntegration, secrets: SpecSecrets): Record<string, unknown> {
  const { unsealer, fingerprintKey } = secrets;
  const { id, sealed_key: key } = row;
  const configurations = readConfigurations(row);
  const models = readModels(row).map((model) => modelSpec(id, model, secrets));
  const grants = row.grants.map(grantSpec);
  return withoutNulls({
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
  return withoutNulls({
    ...setting,
    configurations:
      configurations && fingerprintSecrets(unsealer, fingerprintKey, places, configurations),
  });
}

function accessSpec({
  global_workspace_access: stored,
}: StoredIntegration): Record<string, unknown> | null {
  if (stored === null) return null;
  const { usage_limits: usageLimits = null, ...rest } = readAccess(stored);
  return withoutNulls({
    ...rest,
    usage_limits: usageLimits?.map((limits) => withoutNulls(limits)) ?? null,
  });
}

function grantSpec(row: StoredIntegrationWorkspace): Record<string, unknown> {
  const usageLimits = readDocument<NonNullable<WorkspaceGrant['usage_limits']>>(row.usage_limits);
  return withoutNulls({
    id: row.workspace_id,
    enabled: row.enabled !== 0,
    usage_limits: usageLimits === null ? null : usageLimits.map((limits) => withoutNulls(limits)),
    rate_limits: readDocument(row.rate_limits),
  });
}

/** The stored configurations, secrets still sealed. */
export function readConfigurations(row: StoredIntegration): IntegrationConfigurations | null {
  return readDocument<IntegrationConfigurations>(row.configurations);
}

/** What is said of single models, secrets still sealed. */
export function readModels(row: Pick<StoredIntegration, 'models'>): ModelSetting[] {
  return readDocument<ModelSetting[]>(row.models) ?? [];
}
