/** Converts deployments to API records; the credential is shown once and masked afterwards. */
import { z } from 'zod';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { ResponseTimestamp } from '../../model/wire/timestamp.ts';
import {
  type DeploymentState,
  declarableSettings,
  mapWorkspaceReferences,
  type StoredSettings,
} from '../../model/workspaces/deployment-settings.ts';
import { DeploymentStatus, DeploymentType } from '../../model/workspaces/gateway-deployment.ts';
import type { StoredGatewayDeployment } from '../../store/resources/gateway-deployments.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { computed, constant, document, numericFlag, record, timestamp } from '../request/record.ts';

const Flag = z.literal([0, 1]);

const item = record<StoredGatewayDeployment>()({
  id: z.uuid(),
  organisation_id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  type: DeploymentType,
  status: DeploymentStatus,
  is_default: numericFlag,
  source_type: z.string().nullable(),
  tags: document(JsonRecord),
  /** Deployments do not report to this control plane. */
  connection_status: constant('unknown'),
  created_by: z.string(),
  created_at: timestamp,
  last_updated_at: timestamp,
  last_synced_at: computed(ResponseTimestamp.nullable(), () => null),
  last_resynced_at: computed(ResponseTimestamp.nullable(), () => null),
  object: constant('deployment'),
});

/** Items of the list. */
export const DeploymentItem = item.schema;
export const deploymentToItem = item.toRecord;

const Credentials = z.object({ username: z.string(), password: z.string() });

/** Response of get. */
export const DeploymentRecord = DeploymentItem.extend({
  auth_settings: z.object({
    gateway_base_url: z.string().optional(),
    mcp_gateway_base_url: z.string().optional(),
    is_dataservice_hosted: Flag.optional(),
    is_playground_proxy_allowed: Flag.optional(),
    /** Slugs. */
    workspaces_allowed: z.array(z.string()),
    allow_all_workspaces: Flag,
    jwt_subs_allowed: z.array(z.string()),
    jwt_sub_workspace_mapping: z.record(z.string(), z.string()),
    /** Always set: no hosted gateway can stand in. */
    disable_portkey_gateway: Flag,
  }),
  workspaces: z.array(z.object({ id: z.uuid(), slug: z.string() })),
  deployment_config: JsonRecord.nullable(),
  client_auth: z.string(),
  credentials: Credentials,
});

/** Response of create. */
export const DeploymentCreated = z.object({
  id: z.uuid(),
  slug: z.string(),
  organisation_id: z.uuid(),
  client_auth: z.string(),
  credentials: Credentials,
  object: z.literal('deployment'),
});

/** Response of update; contains a new credential if one was requested. */
export const DeploymentUpdated = z.object({
  client_auth: z.string().optional(),
  credentials: Credentials.optional(),
});

/** The credential in the two formats that clients expect. */
export function authInBothFormats({ slug }: Pick<StoredGatewayDeployment, 'slug'>, value: string) {
  return { client_auth: value, credentials: { username: slug, password: value } };
}

/** `workspaces` are the row's workspaces that are not archived. */
export function deploymentToRecord(
  row: StoredGatewayDeployment,
  workspaces: readonly StoredWorkspace[],
): z.infer<typeof DeploymentRecord> {
  const { declared: _, ...settings } = readDeploymentSettings(row);
  return {
    ...deploymentToItem(row),
    auth_settings: {
      ...settings,
      workspaces_allowed: workspaces.map(({ slug }) => slug),
      allow_all_workspaces: row.allow_all_workspaces === 0 ? 0 : 1,
      jwt_subs_allowed: settings.jwt_subs_allowed ?? [],
      jwt_sub_workspace_mapping: settings.jwt_sub_workspace_mapping ?? {},
      disable_portkey_gateway: 0,
    },
    workspaces: workspaces.map(({ id, slug }) => ({ id, slug })),
    deployment_config: readDocument<JsonRecord>(row.deployment_config),
    ...authInBothFormats(row, row.client_auth_mask),
  };
}

export function readDeploymentSettings(
  row: Pick<StoredGatewayDeployment, 'auth_settings'>,
): StoredSettings {
  return readDocument<StoredSettings>(row.auth_settings)!;
}

export function readWorkspaceIds(row: Pick<StoredGatewayDeployment, 'workspace_ids'>): string[] {
  return readDocument<string[]>(row.workspace_ids)!;
}

export function readDeploymentState(row: StoredGatewayDeployment): DeploymentState {
  const isOpen = row.allow_all_workspaces !== 0;
  return {
    settings: readDeploymentSettings(row),
    served: { isOpen, workspaceIds: readWorkspaceIds(row) },
  };
}

/**
 * The body that would create it again, without absent fields; `active` are the ids of existing workspaces.
 */
export function deploymentToSpec(
  row: StoredGatewayDeployment,
  active: ReadonlySet<string>,
): Record<string, unknown> {
  const settings = mapWorkspaceReferences(declarableSettings(readDeploymentState(row)), (id) =>
    active.has(id) ? id : undefined,
  );
  return omitNulls({
    name: row.name,
    slug: row.slug,
    type: row.type,
    source_type: row.source_type,
    is_default: row.is_default !== 0,
    tags: readDocument<JsonRecord>(row.tags),
    deployment_config: readDocument<JsonRecord>(row.deployment_config),
    auth_settings: Object.keys(settings).length === 0 ? null : settings,
  });
}
