/** Defines the bodies that create, update and delete workspaces. */
import { z } from 'zod';
import {
  WorkspaceBudget,
  WorkspaceRateLimits,
  WorkspaceUsageLimitsInput,
} from '../limits/workspace-limits.ts';
import { ExportSettings } from '../logs/log-export.ts';
import { Scopes } from '../people/scope-list.ts';
import { described } from '../wire/described.ts';
import { freeText, ResourceName } from '../wire/resource-fields.ts';
import type { SlugForm } from '../wire/slug-forms.ts';
import { SecuritySettings } from './security-settings.ts';

const guardrailsMax = 100;

export const workspaceSlugForm: SlugForm = { prefix: 'ws', nameLengthMax: 6 };

const Metadata = z.record(z.string().min(1).max(255), z.string().max(4096));

/** Defaults that both create and update accept. */
const commonDefaults = {
  metadata: described(Metadata.nullable().optional(), 'Added to the metadata of every request.'),
  allow_config_override: described(
    z.boolean().nullable().optional(),
    'Whether requests may select another config; applies to keys and tokens that do not specify it.',
    { default: true },
  ),
};
export const GuardrailReferences = z.array(z.string().min(1).max(255)).max(guardrailsMax);

const daysMax = 36_500;

/** Settings for the keys of a workspace: an absent field is unchanged, null clears it. */
export const WorkspaceSettings = z.strictObject({
  user_api_key_auto_create: described(
    z.boolean().nullable().optional(),
    'Whether a new member receives a key.',
  ),
  user_api_key_auto_create_scopes: described(
    Scopes.nullable().optional(),
    'Scopes of that key; completions.write by default.',
  ),
  user_api_keys_max: described(
    z.int().min(0).max(1_000_000).nullable().optional(),
    'Maximum number of user keys in the workspace.',
  ),
  api_key_max_ttl_days: described(
    z.int().min(1).max(daysMax).nullable().optional(),
    'Maximum lifetime of any key of the workspace, in days.',
  ),
  export_settings: described(
    ExportSettings.nullable().optional(),
    'Restrictions on exports of its log.',
  ),
});
export type WorkspaceSettings = z.infer<typeof WorkspaceSettings>;

const budgetMeaning = 'Budget of all keys of the workspace together.';

const sharedFields = {
  description: described(freeText(4096).nullable().optional(), 'Purpose of the workspace.'),
  icon: described(
    freeText(64).nullable().optional(),
    'Icon in front of the name; empty for none.',
    {
      examples: ['🚀'],
    },
  ),
  usage_limits: described(WorkspaceUsageLimitsInput.nullable().optional(), budgetMeaning),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limit of all keys of the workspace together; a list of at most one.',
  ),
  settings: described(
    WorkspaceSettings.nullable().optional(),
    'Settings for the keys of the workspace.',
  ),
  security_settings: described(
    SecuritySettings.nullable().optional(),
    'What members and managers may see and change.',
  ),
};

/** Body of POST /admin/workspaces. */
export const WorkspaceCreate = z.object({
  name: ResourceName,
  defaults: described(
    z.strictObject(commonDefaults).nullable().optional(),
    'Defaults for requests in the workspace.',
  ),
  scope_name: described(
    ResourceName.optional(),
    'Label of the scope in the access service; defaults to the slug.',
  ),
  ...sharedFields,
});
export type WorkspaceCreate = z.infer<typeof WorkspaceCreate>;

/** Creates the schema of manifests, where a budget has the same form in all kinds. */
export function makeWorkspaceSpec() {
  return WorkspaceCreate.strict().extend({
    usage_limits: described(WorkspaceBudget.nullable().optional(), budgetMeaning),
  });
}

/** Body of PUT /admin/workspaces/{id}: an absent field is unchanged, null clears it; `defaults` are merged by key. */
export const WorkspaceUpdate = z.object({
  name: ResourceName.optional(),
  defaults: z
    .strictObject({
      ...commonDefaults,
      /** Guardrails of the organisation by UUID or slug, applied to every request. */
      input_guardrails: GuardrailReferences.nullable().optional(),
      output_guardrails: GuardrailReferences.nullable().optional(),
      /** As above, applied to every call of an MCP tool. */
      mcp_input_guardrails: GuardrailReferences.nullable().optional(),
      mcp_output_guardrails: GuardrailReferences.nullable().optional(),
      /** Config by UUID or slug, returned as UUID; used by user keys without a config of their own. */
      user_api_key_config: z.string().min(1).max(255).nullable().optional(),
    })
    .nullable()
    .optional(),
  ...sharedFields,
});
export type WorkspaceUpdate = z.infer<typeof WorkspaceUpdate>;

/** Content of the defaults column: keys as sent, the config as UUID, no nulls. */
export interface WorkspaceDefaults {
  metadata?: Record<string, string>;
  allow_config_override?: boolean;
  input_guardrails?: string[];
  output_guardrails?: string[];
  mcp_input_guardrails?: string[];
  mcp_output_guardrails?: string[];
  user_api_key_config?: string;
}

/** Body of DELETE /admin/workspaces/{id}; the name confirms the deletion. */
export const WorkspaceDelete = z.object({
  name: z.string().min(1).max(1024).optional(),
  /** Deletes the contents of the workspace as well. */
  force_delete: z.boolean().optional(),
});
export type WorkspaceDelete = z.infer<typeof WorkspaceDelete>;

/** The name as clients display it, with the icon in front: `🚀 Support`. */
export function displayName(workspace: { name: string; icon: string | null }): string {
  return workspace.icon === null ? workspace.name : `${workspace.icon} ${workspace.name}`;
}
