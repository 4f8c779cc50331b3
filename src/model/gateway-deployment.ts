/** Knows the bodies by which deployments (gateways that an organisation runs) are made and changed, and what becomes of their settings. */
import { z } from 'zod';
import { JsonRecord } from './json-record.ts';
import { anyHost, outboundUrlFault } from './outbound-url.ts';
import { ResourceName, WorkspaceReference } from './resource-fields.ts';
import { Slug } from './slug.ts';

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

/** Where a deployment answers, and for whom. */
const AuthSettings = z.object({
  gateway_base_url: Address.optional(),
  mcp_gateway_base_url: Address.optional(),
  is_dataservice_hosted: Flag.optional(),
  is_playground_proxy_allowed: Flag.optional(),
  /** By id or slug; none means every one. */
  workspaces_allowed: References.optional(),
  jwt_subs_allowed: Subjects.optional(),
  /** Workspaces by the `sub` of a token; both count as allowed. */
  jwt_sub_workspace_mapping: z.record(Subject, WorkspaceReference).optional(),
  allow_all_workspaces: z.boolean().optional(),
});

const AuthSettingsUpdate = AuthSettings.extend({
  remove_workspaces_allowed: References.optional(),
  remove_subs_allowed: Subjects.optional(),
});
export type AuthSettingsUpdate = z.infer<typeof AuthSettingsUpdate>;

const fields = {
  tags: Tags.nullable().optional(),
  deployment_config: JsonRecord.nullable().optional(),
  is_default: z.boolean().optional(),
  source_type: z.string().min(1).max(64).nullable().optional(),
};

/** Body of POST /deployments. */
export const DeploymentCreate = z.object({
  name: ResourceName,
  slug: Slug.max(50).optional(),
  type: DeploymentType.optional(),
  auth_settings: AuthSettings.optional(),
  ...fields,
});
export type DeploymentCreate = z.infer<typeof DeploymentCreate>;

/** Body of PUT /deployments/{id}: absent fields stay, null clears; lists of `auth_settings` grow. */
export const DeploymentUpdate = z.object({
  name: ResourceName.optional(),
  type: DeploymentType.optional(),
  status: DeploymentStatus.optional(),
  auth_settings: AuthSettingsUpdate.optional(),
  /** An order: another value by which it says who it is. */
  rotate_auth: z.boolean().optional(),
  /** Lists of `auth_settings` take the place of what is stored. */
  override_existing: z.boolean().optional(),
  ...fields,
});
export type DeploymentUpdate = z.infer<typeof DeploymentUpdate>;

/** What is kept of the settings, workspaces apart. */
export type StoredSettings = Pick<
  AuthSettingsUpdate,
  | 'gateway_base_url'
  | 'mcp_gateway_base_url'
  | 'is_dataservice_hosted'
  | 'is_playground_proxy_allowed'
  | 'jwt_subs_allowed'
  | 'jwt_sub_workspace_mapping'
>;

/** Which workspaces a deployment serves: ids, and whether it serves all. */
export interface Served {
  readonly isOpen: boolean;
  readonly workspaceIds: readonly string[];
}

/** The settings after an update; `idOf` finds the id of a workspace that is named. */
export function settingsAfter(
  stored: { readonly settings: StoredSettings; readonly served: Served },
  sent: AuthSettingsUpdate,
  replaces: boolean,
  idOf: (reference: string) => string,
): { readonly settings: StoredSettings; readonly served: Served } {
  const { settings, served } = stored;
  const { jwt_sub_workspace_mapping: mapping } = sent;
  const named = [...(sent.workspaces_allowed ?? []), ...Object.values(mapping ?? {})].map(idOf);
  const workspaceIds = merged(
    { before: served.workspaceIds, isReplaced: replaces && sent.workspaces_allowed !== undefined },
    named,
    (sent.remove_workspaces_allowed ?? []).map(idOf),
  );
  const subjects = merged(
    {
      before: settings.jwt_subs_allowed ?? [],
      isReplaced: replaces && sent.jwt_subs_allowed !== undefined,
    },
    [...(sent.jwt_subs_allowed ?? []), ...Object.keys(mapping ?? {})],
    sent.remove_subs_allowed ?? [],
  );
  const removed = new Set(sent.remove_subs_allowed ?? []);
  const before = replaces && mapping !== undefined ? {} : settings.jwt_sub_workspace_mapping;
  const mappings = Object.entries({ ...before, ...mapping }).filter(([sub]) => !removed.has(sub));
  const plain = {
    gateway_base_url: sent.gateway_base_url ?? settings.gateway_base_url,
    mcp_gateway_base_url: sent.mcp_gateway_base_url ?? settings.mcp_gateway_base_url,
    is_dataservice_hosted: sent.is_dataservice_hosted ?? settings.is_dataservice_hosted,
    is_playground_proxy_allowed:
      sent.is_playground_proxy_allowed ?? settings.is_playground_proxy_allowed,
  };
  return {
    settings: {
      ...plain,
      jwt_subs_allowed: subjects,
      jwt_sub_workspace_mapping: Object.fromEntries(mappings),
    },
    served: servedAfter(served, workspaceIds, sent),
  };
}

/** Naming a workspace closes a deployment to others; an empty list that is sent opens it. */
function servedAfter(
  before: Served,
  workspaceIds: readonly string[],
  { allow_all_workspaces: isOpen, workspaces_allowed: named }: AuthSettingsUpdate,
): Served {
  if (isOpen === true) return { isOpen: true, workspaceIds: [] };
  if (workspaceIds.length > 0) return { isOpen: false, workspaceIds };
  if (isOpen === false) return { isOpen: false, workspaceIds };
  return { isOpen: named !== undefined || before.isOpen, workspaceIds };
}

function merged(
  { before, isReplaced }: { readonly before: readonly string[]; readonly isReplaced: boolean },
  added: readonly string[],
  removed: readonly string[],
): string[] {
  const gone = new Set(removed);
  const all = new Set([...(isReplaced ? [] : before), ...added]);
  return [...all].filter((one) => !gone.has(one));
}
