/** Knows the bodies by which workspaces are made and changed, and how a name is shown with its icon. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ExportSettings } from '../logs/log-export.ts';
import { freeText, ResourceName } from '../wire/resource-fields.ts';
import { Scopes } from '../people/scope-list.ts';
import { SecuritySettings } from './security-settings.ts';
import type { SlugForm } from '../wire/slug.ts';
import { WorkspaceRateLimits, WorkspaceUsageLimits } from '../limits/workspace-limits.ts';

const guardrailsMax = 100;

export const workspaceSlugForm: SlugForm = { prefix: 'ws', nameLengthMax: 6 };

const Metadata = z.record(z.string().min(1).max(255), z.string().max(4096));

/** What the defaults of a create and of an update share. */
const commonDefaults = {
  metadata: described(Metadata.nullable().optional(), 'Added to the metadata of every request.'),
  allow_config_override: described(
    z.boolean().nullable().optional(),
    'Whether requests may name another config; for keys and tokens that say nothing of it themselves.',
    { default: true },
  ),
};
export const GuardrailReferences = z.array(z.string().min(1).max(255)).max(guardrailsMax);

const daysMax = 36_500;

/** What a workspace says of the keys of its people; absent keys stay, null clears. */
export const WorkspaceSettings = z.strictObject({
  user_api_key_auto_create: described(
    z.boolean().nullable().optional(),
    'Whether somebody who joins is given a key.',
  ),
  user_api_key_auto_create_scopes: described(
    Scopes.nullable().optional(),
    'What such a key may do; completions.write where nothing is said.',
  ),
  user_api_keys_max: described(
    z.int().min(0).max(1_000_000).nullable().optional(),
    'How many keys of people the workspace has at most.',
  ),
  api_key_max_ttl_days: described(
    z.int().min(1).max(daysMax).nullable().optional(),
    'Longest life of any key of the workspace, in days.',
  ),
  export_settings: described(
    ExportSettings.nullable().optional(),
    'What exports of its log may hold.',
  ),
});
export type WorkspaceSettings = z.infer<typeof WorkspaceSettings>;

const shared = {
  description: described(freeText(4096).nullable().optional(), 'What the workspace is for.'),
  icon: described(freeText(64).nullable().optional(), 'Shown before the name; empty for none.', {
    examples: ['🚀'],
  }),
  usage_limits: described(
    WorkspaceUsageLimits.nullable().optional(),
    'Budget of all keys of the workspace together; at most one.',
  ),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limit of all keys of the workspace together; at most one.',
  ),
  settings: described(
    WorkspaceSettings.nullable().optional(),
    'What holds for the keys of its people.',
  ),
  security_settings: described(
    SecuritySettings.nullable().optional(),
    'What its members and managers see and write.',
  ),
};

/** Body of POST /admin/workspaces. */
export const WorkspaceCreate = z.object({
  name: ResourceName,
  defaults: described(
    z.strictObject(commonDefaults).nullable().optional(),
    'What requests in the workspace start from.',
  ),
  scope_name: described(
    ResourceName.optional(),
    'Label of the scope in the access service; the slug when left out.',
  ),
  ...shared,
});
export type WorkspaceCreate = z.infer<typeof WorkspaceCreate>;

/** Body of PUT /admin/workspaces/{id}: absent fields stay, null clears; `defaults` merge by key. */
export const WorkspaceUpdate = z.object({
  name: ResourceName.optional(),
  defaults: z
    .strictObject({
      ...commonDefaults,
      /** Guardrails of this organisation by UUID or slug, put on every request. */
      input_guardrails: GuardrailReferences.nullable().optional(),
      output_guardrails: GuardrailReferences.nullable().optional(),
      /** Config by UUID or slug, answered as UUID: that of user keys of the workspace without one of their own. */
      user_api_key_config: z.string().min(1).max(255).nullable().optional(),
    })
    .nullable()
    .optional(),
  ...shared,
});
export type WorkspaceUpdate = z.infer<typeof WorkspaceUpdate>;

/** What the defaults column holds: keys as sent, the config as UUID, nulls left out. */
export interface WorkspaceDefaults {
  metadata?: Record<string, string>;
  allow_config_override?: boolean;
  input_guardrails?: string[];
  output_guardrails?: string[];
  user_api_key_config?: string;
}

/** Body of DELETE /admin/workspaces/{id}; a name is the caller's confirmation. */
export const WorkspaceDelete = z.object({
  name: z.string().min(1).max(1024).optional(),
  /** Deletes what the workspace holds too. */
  force_delete: z.boolean().optional(),
});
export type WorkspaceDelete = z.infer<typeof WorkspaceDelete>;

/** `🚀 Support`: how clients see the name of a workspace with an icon. */
export function displayName(workspace: { name: string; icon: string | null }): string {
  return workspace.icon === null ? workspace.name : `${workspace.icon} ${workspace.name}`;
}
