/** Knows the bodies by which deployments (gateways that an organisation runs) are made and changed, and what becomes of their settings. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { anyHost, outboundUrlFault } from '../services/outbound-url.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';

const workspacesMax = 1000;
const subjectsMax = 1000;

export const deploymentSlugForm = { prefix: 'dp', nameLengthMax: 6 };

export const DeploymentType = z.enum(['production', 'non_production']);
export type DeploymentType = z.infer<typeof DeploymentType>;
export const DeploymentStatus = z.enum(['active', 'archived']);
export type DeploymentStatus = z.infer<typeof DeploymentStatus>;

const Tags = z.record(z.string().min(1).max(255), z.string().max(1024));
const Address = z
  .string()
  .max(2048)
  .superRefine((text, context) => {
    const fault = outboundUrlFault(text, anyHost);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .meta({ format: 'uri' });
const Flag = z.literal([0, 1]);
const Subject = z.string().min(1).max(255);
const References = z.array(WorkspaceReference).max(workspacesMax);
const Subjects = z.array(Subject).max(subjectsMax);

/** Where a deployment answers, and for whom; null clears. */
const AuthSettings = z.object({
  gateway_base_url: described(
    Address.nullable().optional(),
    'Where the gateway answers inference.',
  ),
  mcp_gateway_base_url: described(
    Address.nullable().optional(),
    'Where the gateway answers clients of MCP.',
  ),
  is_dataservice_hosted: described(
    Flag.nullable().optional(),
    'Whether the service for its data is hosted beside it.',
  ),
  is_playground_proxy_allowed: described(
    Flag.nullable().optional(),
    'Whether a playground may call it.',
  ),
  workspaces_allowed: described(
    References.nullable().optional(),
    'Workspaces that it serves, by UUID or slug; every one when none is named.',
  ),
  jwt_subs_allowed: described(Subjects.nullable().optional(), 'Subjects of tokens that it serves.'),
  jwt_sub_workspace_mapping: described(
    z.record(Subject, WorkspaceReference).nullable().optional(),
    'Workspaces by the `sub` of a token; both are served, too.',
  ),
  allow_all_workspaces: described(
    z.boolean().nullable().optional(),
    'Whether it serves every workspace, whatever is named.',
  ),
});
export type AuthSettings = z.infer<typeof AuthSettings>;

const AuthSettingsUpdate = AuthSettings.extend({
  remove_workspaces_allowed: References.optional(),
  remove_subs_allowed: Subjects.optional(),
});
export type AuthSettingsUpdate = z.infer<typeof AuthSettingsUpdate>;

const fields = {
  tags: described(Tags.nullable().optional(), 'Texts by name, for your own use.'),
  deployment_config: described(JsonRecord.nullable().optional(), 'Settings, for your own use.'),
  is_default: described(
    z.boolean().optional(),
    'Whether it is the one that counts where none is named.',
    { default: false },
  ),
  source_type: described(
    z.string().min(1).max(64).nullable().optional(),
    'What runs it, in a word of your own.',
  ),
  type: described(DeploymentType.nullable().optional(), 'Whether production depends on it.', {
    default: 'production',
  }),
};

/** Body of POST /deployments. */
export const DeploymentCreate = z.object({
  name: ResourceName,
  slug: described(
    Slug.max(50).optional(),
    'Short name in addresses; made from the name when left out.',
  ),
  auth_settings: described(AuthSettings.nullable().optional(), 'Where it answers, and for whom.'),
  ...fields,
});
export type DeploymentCreate = z.infer<typeof DeploymentCreate>;

/** Of a manifest, where nobody could say which of two contradicting fields was meant; paths start at the body. */
export function deploymentSpecFaults({ auth_settings: settings }: DeploymentCreate): Fault[] {
  if (settings?.allow_all_workspaces !== true) return [];
  if ((settings.workspaces_allowed ?? []).length === 0) return [];
  const message = 'must be left out where allow_all_workspaces is true';
  return [{ path: ['auth_settings', 'workspaces_allowed'], message }];
}

/** Body of PUT /deployments/{id}: absent fields stay, null clears; lists of `auth_settings` grow. */
export const DeploymentUpdate = z.object({
  name: ResourceName.optional(),
  status: DeploymentStatus.optional(),
  auth_settings: AuthSettingsUpdate.nullable().optional(),
  /** An order: another value by which it says who it is. */
  rotate_auth: z.boolean().optional(),
  /** Lists of `auth_settings` take the place of what is stored. */
  override_existing: z.boolean().optional(),
  ...fields,
});
export type DeploymentUpdate = z.infer<typeof DeploymentUpdate>;
