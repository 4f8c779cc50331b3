/** Knows the bodies by which providers (a workspace's use of an integration) are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { RateLimits, UsageLimits } from '../limits/key-limits.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';
import { Timestamp } from '../wire/timestamp.ts';

/** Fields that a create and an update share. */
const fields = {
  note: described(freeText(5000).nullable().optional(), 'What the provider is for.'),
  usage_limits: described(
    UsageLimits.nullable().optional(),
    'Budget of the provider, at which requests to it are refused.',
  ),
  rate_limits: described(
    RateLimits.nullable().optional(),
    'How many requests or tokens it takes in a time.',
  ),
  expires_at: described(
    Timestamp.nullable().optional(),
    'Moment from which on requests to it are refused.',
    { examples: ['2030-01-01T00:00:00Z'] },
  ),
};

/** Body of POST /providers. `integration_id` is a UUID or a slug. */
export const ProviderCreate = z.object({
  name: ResourceName,
  integration_id: described(
    z.string().min(1).max(255),
    'Integration that requests go by, by UUID or slug.',
  ),
  workspace_id: WorkspaceReference.optional(),
  slug: described(
    Slug.optional(),
    'Short name in configs and requests (@slug); made from the name when left out.',
  ),
  ...fields,
});
export type ProviderCreate = z.infer<typeof ProviderCreate>;

/** Body of PUT /providers/{id}; absent fields stay, null clears. */
export const ProviderUpdate = z.object({
  name: ResourceName.optional(),
  ...fields,
  /** A trigger, not a field: sets the usage of the running window to nought. */
  reset_usage: z
    .union([z.boolean(), z.literal([0, 1])])
    .nullable()
    .optional(),
});
export type ProviderUpdate = z.infer<typeof ProviderUpdate>;

/** Clients send one rate limit by itself where a list has one. */
export const SentRateLimits = z.union([
  RateLimits,
  RateLimits.element.transform((limit) => [limit]),
]);
