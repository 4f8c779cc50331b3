/** Defines the bodies that create and update gateway configs. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Flag, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { OptionalSlug, UpdatedSlug } from '../wire/slug.ts';

/** The routing document, in the spelling of the gateway; config-document.ts validates its keys. */
export const ConfigDocument = z.record(z.string(), z.unknown());
export type ConfigDocument = z.infer<typeof ConfigDocument>;

export const ConfigStatus = z.enum(['active', 'archived']);

/** Body of POST /configs. */
export const ConfigCreate = z.object({
  name: ResourceName,
  config: described(
    ConfigDocument,
    'The routing document, in the spelling of the gateway: strategy, targets, retry, cache, guardrails. Responses mask its secrets.',
    { examples: [{ retry: { attempts: 3 } }] },
  ),
  slug: OptionalSlug,
  workspace_id: WorkspaceReference.optional(),
  isDefault: described(Flag.optional(), "Whether this is its workspace's default config.", {
    default: 0,
  }),
});
export type ConfigCreate = z.infer<typeof ConfigCreate>;

/** Body of PUT /configs/{id}; an absent field is unchanged. */
export const ConfigUpdate = z.object({
  name: ResourceName.optional(),
  slug: UpdatedSlug,
  config: ConfigDocument.optional(),
  status: ConfigStatus.optional(),
  /** Whether this becomes the default config of its workspace. */
  isDefault: Flag.optional(),
});
export type ConfigUpdate = z.infer<typeof ConfigUpdate>;
