/** Defines the bodies that create and update providers, through which a workspace uses an integration. */
import { z } from 'zod';
import { RateLimits, UsageLimits } from '../limits/key-limits.ts';
import { described } from '../wire/described.ts';
import {
  freeText,
  ResetUsage,
  ResourceName,
  Tags,
  WorkspaceReference,
} from '../wire/resource-fields.ts';
import { Slug, UpdatedSlug } from '../wire/slug.ts';
import { Timestamp } from '../wire/timestamp.ts';

/** Fields shared by create and update. */
const fields = {
  note: described(freeText(5000).nullable().optional(), 'Purpose of the provider.'),
  usage_limits: described(
    UsageLimits.nullable().optional(),
    'Budget of the provider; requests are rejected once it is used up.',
  ),
  rate_limits: described(
    RateLimits.nullable().optional(),
    'Limits on requests and tokens per period.',
  ),
  expires_at: described(
    Timestamp.nullable().optional(),
    'Time from which requests to the provider are rejected.',
    { examples: ['2030-01-01T00:00:00Z'] },
  ),
  tags: Tags,
};

/** Body of POST /providers. `integration_id` is a UUID or a slug. */
export const ProviderCreate = z.object({
  name: ResourceName,
  integration_id: described(
    z.string().min(1).max(255),
    'Integration that requests use, by UUID or slug.',
  ),
  workspace_id: WorkspaceReference.optional(),
  slug: described(
    Slug.optional(),
    'Short name in configs and requests (@slug); generated from the name if omitted.',
  ),
  ...fields,
});
export type ProviderCreate = z.infer<typeof ProviderCreate>;

/** Body of PUT /providers/{id}: an absent field is unchanged, null clears it. */
export const ProviderUpdate = z.object({
  name: ResourceName.optional(),
  slug: UpdatedSlug,
  ...fields,
  reset_usage: ResetUsage,
});
export type ProviderUpdate = z.infer<typeof ProviderUpdate>;

/** Clients may send a single rate limit instead of a list of one. */
export const RateLimitsInput = z.union([
  RateLimits,
  RateLimits.element.transform((limit) => [limit]),
]);
