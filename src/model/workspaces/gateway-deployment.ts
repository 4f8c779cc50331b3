/** Defines the bodies that create and update deployments, the gateways that an organisation runs. */
import { z } from 'zod';
import { anyHost, outboundUrlFault } from '../services/outbound-url.ts';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { Flag, ResourceName, Tags, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';

const workspacesMax = 1000;
const subjectsMax = 1000;

export const deploymentSlugForm = { prefix: 'dp', nameLengthMax: 6 };

export const DeploymentType = z.enum(['production', 'non_production']);
export type DeploymentType = z.infer<typeof DeploymentType>;
export const DeploymentStatus = z.enum(['active', 'archived']);
export type DeploymentStatus = z.infer<typeof DeploymentStatus>;

const Address = z
  .string()
  .max(2048)
  .superRefine((text, context) => {
    const fault = outboundUrlFault(text, anyHost);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .meta({ format: 'uri' });
const Subject = z.string().min(1).max(255);
const References = z.array(WorkspaceReference).max(workspacesMax);
const Subjects = z.array(Subject).max(subjectsMax);

/** Addresses and audience of a deployment; null clears a field. */
const DeploymentAuthSettings = z.object({
  gateway_base_url: described(
    Address.nullable().optional(),
    'Base URL of the gateway for inference.',
  ),
  mcp_gateway_base_url: described(
    Address.nullable().optional(),
    'Base URL of the gateway for MCP clients.',
  ),
  is_dataservice_hosted: described(
    Flag.nullable().optional(),
    'Whether its data service is hosted next to it.',
  ),
  is_playground_proxy_allowed: described(
    Flag.nullable().optional(),
    'Whether a playground may call the deployment.',
  ),
  workspaces_allowed: described(
    References.nullable().optional(),
    'Workspaces that the deployment serves, by UUID or slug; all if none is listed.',
  ),
  jwt_subs_allowed: described(
    Subjects.nullable().optional(),
    'Token subjects that the deployment serves.',
  ),
  jwt_sub_workspace_mapping: described(
    z.record(Subject, WorkspaceReference).nullable().optional(),
    'Workspaces by the `sub` of a token; both are allowed as well.',
  ),
  allow_all_workspaces: described(
    z.boolean().nullable().optional(),
    'Whether the deployment serves every workspace, regardless of workspaces_allowed.',
  ),
});
export type DeploymentAuthSettings = z.infer<typeof DeploymentAuthSettings>;

const DeploymentAuthSettingsUpdate = DeploymentAuthSettings.extend({
  remove_workspaces_allowed: References.optional(),
  remove_subs_allowed: Subjects.optional(),
});
export type DeploymentAuthSettingsUpdate = z.infer<typeof DeploymentAuthSettingsUpdate>;

const fields = {
  tags: Tags,
  deployment_config: described(JsonRecord.nullable().optional(), 'Settings for your own use.'),
  is_default: described(z.boolean().optional(), 'Whether the deployment is the default.', {
    default: false,
  }),
  source_type: described(
    z.string().min(1).max(64).nullable().optional(),
    'What runs the deployment, in a word of your own.',
  ),
  type: described(DeploymentType.nullable().optional(), 'Whether it is used in production.', {
    default: 'production',
  }),
};

/** Body of POST /deployments. */
export const DeploymentCreate = z.object({
  name: ResourceName,
  slug: described(
    Slug.max(50).optional(),
    'Short name for URLs; generated from the name if omitted.',
  ),
  auth_settings: described(DeploymentAuthSettings.nullable().optional(), 'Addresses and audience.'),
  ...fields,
});
export type DeploymentCreate = z.infer<typeof DeploymentCreate>;

/** Rules for a manifest, in which contradictory fields are rejected; paths start at the body. */
export function deploymentSpecFaults({ auth_settings: settings }: DeploymentCreate): Fault[] {
  if (settings?.allow_all_workspaces !== true) return [];
  if ((settings.workspaces_allowed ?? []).length === 0) return [];
  const message = 'must be omitted if allow_all_workspaces is true';
  return [{ path: ['auth_settings', 'workspaces_allowed'], message }];
}

/** Body of PUT /deployments/{id}: an absent field is unchanged, null clears it; lists of `auth_settings` grow. */
export const DeploymentUpdate = z.object({
  name: ResourceName.optional(),
  status: DeploymentStatus.optional(),
  auth_settings: DeploymentAuthSettingsUpdate.nullable().optional(),
  /** An action: replaces the credential of the deployment. */
  rotate_auth: z.boolean().optional(),
  /** Lists of `auth_settings` replace the stored lists. */
  override_existing: z.boolean().optional(),
  ...fields,
});
export type DeploymentUpdate = z.infer<typeof DeploymentUpdate>;
