/** Knows the bodies by which gateway configs are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Flag, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';

/** The routing document itself, in the gateway's own spelling; config-document.ts knows its keys. */
export const ConfigDocument = z.record(z.string(), z.unknown());
export type ConfigDocument = z.infer<typeof ConfigDocument>;

export const ConfigStatus = z.enum(['active', 'archived']);

/** Body of POST /configs. */
export const ConfigCreate = z.object({
  name: ResourceName,
  config: described(
    ConfigDocument,
    'The routing document, in the spelling of the gateway: strategy, targets, retry, cache, guardrails.',
    { examples: [{ retry: { attempts: 3 } }] },
  ),
  workspace_id: WorkspaceReference.optional(),
  isDefault: described(Flag.optional(), "Whether this is its workspace's default config.", {
    default: 0,
  }),
});
export type ConfigCreate = z.infer<typeof ConfigCreate>;

/** Body of PUT /configs/{id}; absent fields stay. */
export const ConfigUpdate = z.object({
  name: ResourceName.optional(),
  config: ConfigDocument.optional(),
  status: ConfigStatus.optional(),
  /** Whether this is its workspace's default config. */
  isDefault: Flag.optional(),
});
export type ConfigUpdate = z.infer<typeof ConfigUpdate>;
