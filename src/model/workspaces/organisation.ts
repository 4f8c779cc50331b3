/** Knows what is said of an organisation itself. */
import { z } from 'zod';
import { AnsweredTimestamp } from '../wire/timestamp.ts';

/** Body of PUT /organisations/self: absent fields stay. */
export const OrganisationUpdate = z.object({ name: z.string().trim().min(1).max(255).optional() });
export type OrganisationUpdate = z.infer<typeof OrganisationUpdate>;

const shared = {
  id: z.uuid(),
  object: z.literal('organisation'),
  name: z.string(),
  created_at: AnsweredTimestamp,
  last_updated_at: AnsweredTimestamp,
};

export const OrganisationRecord = z.object({
  ...shared,
  tsg_id: z.string(),
  /** Of its API keys; null for no bound. */
  api_key_max_ttl_days: z.int().nullable(),
});
export type OrganisationRecord = z.infer<typeof OrganisationRecord>;

const flag = z.int().min(0).max(1);
const count = z.int().min(0);

/** In the form of clients that ask for more than there is here: what there is not is 0, false, null or empty. */
export const OrganisationInfo = z.object({
  ...shared,
  ...{ is_first_generation_done: flag, disable_portkey_gateway: flag },
  settings: z.object({
    ...{ dashboard_gateway_url: z.literal(''), dashboard_mcp_gateway_url: z.literal('') },
    ...{ debug_log: flag, user_api_key_count: count, user_api_key_ttl: count },
    ...{ user_api_key_max_ttl: count, user_key_metadata: flag, user_key_metadata_override: flag },
    user_api_key_rotation_period: z.null(),
    user_api_key_auto_create: z.boolean(),
    default_workspace_user_api_key_auto_create: z.boolean(),
  }),
  benefits: z.object({
    limits: z.record(z.string(), z.number()),
    featureFlags: z.record(z.string(), flag),
  }),
  subscription: z.object({ type: z.literal('self_hosted'), name: z.literal('gatewright') }),
});
export type OrganisationInfo = z.infer<typeof OrganisationInfo>;

/** How its people sign in, which the settings of the deployment say. */
export const AuthSettings = z.object({
  /** Empty where nobody signs in. */
  auth_settings: z.object({
    ...{ issuer: z.string().optional(), client_id: z.string().optional() },
    ...{ scopes: z.string().optional(), role_claim: z.string().nullable().optional() },
    groups_claim: z.string().nullable().optional(),
    disable_auto_provision_user: z.boolean().optional(),
    token_endpoint_auth_method: z.string().optional(),
    /** What the issuer verifies signatures with; null where it is shown no signature. */
    jwks: z
      .object({ keys: z.array(z.record(z.string(), z.string())) })
      .nullable()
      .optional(),
  }),
  domains: z.array(z.string()).length(0),
  /** Directories come with an API key, of which nobody is told the value again. */
  scim_token: z.null(),
});
export type AuthSettings = z.infer<typeof AuthSettings>;
