/** Defines the records of an organisation in responses, and the body that changes it. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ResponseTimestamp } from '../wire/timestamp.ts';

const daysMax = 36_500;

/** Maximum lifetime of the API keys of an organisation; null for none. */
export const ApiKeyMaxTtlDays = z.int().min(1).max(daysMax).nullable();

/** Body of PUT /organisations/self; an absent field is unchanged. */
export const OrganisationUpdate = z.object({
  name: z.string().trim().min(1).max(255).optional(),
  /** Maximum lifetime of its API keys; null removes it. Existing keys keep their expiry. */
  api_key_max_ttl_days: ApiKeyMaxTtlDays.optional(),
});
export type OrganisationUpdate = z.infer<typeof OrganisationUpdate>;

const sharedFields = {
  id: z.uuid(),
  object: z.literal('organisation'),
  name: z.string(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
};

export const OrganisationRecord = z.object({
  ...sharedFields,
  tsg_id: z.string(),
  /** Maximum lifetime of its API keys; null for no limit. */
  api_key_max_ttl_days: z.int().nullable(),
});
export type OrganisationRecord = z.infer<typeof OrganisationRecord>;

const flag = z.int().min(0).max(1);
const count = z.int().min(0);

/** A form for clients that expect further fields; those without a counterpart here are 0, false, null or empty. */
export const OrganisationInfo = z.object({
  ...sharedFields,
  is_first_generation_done: flag,
  disable_portkey_gateway: flag,
  settings: z.object({
    dashboard_gateway_url: z.literal(''),
    dashboard_mcp_gateway_url: z.literal(''),
    debug_log: flag,
    user_api_key_count: count,
    user_api_key_ttl: count,
    user_api_key_max_ttl: count,
    user_key_metadata: flag,
    user_key_metadata_override: flag,
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

/** Body of PUT /organisations/{tsgId}/auth-settings: the part of them that an organisation decides. */
export const OrganisationAuthSettingsUpdate = z.object({
  auth_settings: z.object({
    disable_auto_provision_user: described(
      z.boolean().nullable(),
      'Whether unknown accounts of the identity provider are refused; null follows the deployment.',
    ),
  }),
});
export type OrganisationAuthSettingsUpdate = z.infer<typeof OrganisationAuthSettingsUpdate>;

/** The part of an organisation that decides who becomes its user by signing in. */
interface ProvisioningChoice {
  readonly tsg_id: string;
  /** 1, 0, or null to follow the deployment. */
  readonly provisions_users: number | null;
}

/** Settings of the deployment for organisations that have decided nothing themselves. */
export interface ProvisioningDefault {
  readonly provisions: boolean;
  readonly tsgId: string | null;
}

/** Whether an unknown account of the identity provider becomes a user when it signs in. */
export function isAutoProvisioned(
  { tsg_id, provisions_users: chosen }: ProvisioningChoice,
  { provisions, tsgId }: ProvisioningDefault,
): boolean {
  return chosen === null ? provisions && tsgId === tsg_id : chosen === 1;
}

/** Single sign-on of the organisation, most of which the settings of the deployment configure. */
export const OrganisationAuthSettings = z.object({
  /** Without single sign-on only what the organisation has decided. */
  auth_settings: z.object({
    issuer: z.string().optional(),
    client_id: z.string().optional(),
    scopes: z.string().optional(),
    role_claim: z.string().nullable().optional(),
    groups_claim: z.string().nullable().optional(),
    disable_auto_provision_user: z.boolean().optional(),
    token_endpoint_auth_method: z.string().optional(),
    /** Public keys with which the issuer verifies signatures; null if none are used. */
    jwks: z
      .object({ keys: z.array(z.record(z.string(), z.string())) })
      .nullable()
      .optional(),
  }),
  domains: z.array(z.string()).length(0),
  /** Always null: directories authenticate with an API key, whose value is shown only once. */
  scim_token: z.null(),
});
export type OrganisationAuthSettings = z.infer<typeof OrganisationAuthSettings>;
