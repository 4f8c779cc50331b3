/** Knows the shape of every table's rows, as the driver returns them. Documents are JSON text. */
import type { Generated } from 'kysely';

/** Columns every resource shares: `version` counts writes, times are ms since the epoch. */
interface Versioned {
  version: Generated<number>;
  created_at: number;
  last_updated_at: number;
}

export interface OrganisationRow {
  id: string;
  tsg_id: string;
  parent_tsg_id: string | null;
  name: string;
  api_key_max_ttl_days: number | null;
  created_at: number;
}

export interface ServiceAccountRow {
  id: string;
  tsg_id: string;
  name: string;
  client_id: string;
  secret_hmac: Buffer;
  created_at: number;
}

export interface AccessPolicyRow {
  id: string;
  tsg_id: string;
  principal: string;
  resource: string;
  role: string;
  created_at: number;
}

interface AuditRow {
  id: Generated<number>;
  organisation_id: string;
  workspace_id: string | null;
  at: number;
  actor_kind: string;
  actor_id: string;
  action: string;
  resource_kind: string;
  resource_id: string;
  request_id: string;
  changes: string;
}

export interface ManagedResourceRow {
  kind: string;
  resource_id: string;
  organisation_id: string;
  workspace: string;
  name: string;
  owner: string;
  source: string;
  last_applied: string;
  updated_at: number;
}

export interface WorkspaceRow extends Versioned {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  icon: string | null;
  scope_name: string | null;
  defaults: string | null;
  usage_limits: string | null;
  rate_limits: string | null;
  status: 'active' | 'archived';
  is_default: number;
  api_key_max_ttl_days: number | null;
  created_by: string;
  last_reset_at: number | null;
}

export interface GuardrailRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  target: 'llm' | 'mcp_tools';
  status: 'active' | 'archived';
  checks: string;
  actions: string | null;
  version_id: string;
  owner_id: string;
  updated_by: string;
}

export interface GuardrailVersionRow {
  id: string;
  guardrail_id: string;
  organisation_id: string;
  name: string;
  checks: string;
  actions: string | null;
  created_by: string;
  created_at: number;
}

export interface ConfigRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  config: string;
  is_default: number;
  status: 'active' | 'archived';
  version_id: string;
  owner_id: string;
  updated_by: string;
}

export interface ConfigVersionRow {
  id: string;
  config_id: string;
  organisation_id: string;
  name: string;
  config: string;
  created_by: string;
  created_at: number;
}

export interface ApiKeyRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  user_id: string | null;
  type: 'organisation-service' | 'organisation-user' | 'workspace-service' | 'workspace-user';
  name: string;
  description: string | null;
  key_hmac: Buffer;
  key_mask: string;
  status: 'active' | 'exhausted' | 'expired';
  creation_mode: 'ui' | 'api' | 'auto';
  scopes: string;
  rate_limits: string | null;
  usage_limits: string | null;
  metadata: string | null;
  config_id: string | null;
  allow_config_override: number | null;
  alert_emails: string | null;
  expires_at: number | null;
  rotation_policy: string | null;
  last_reset_at: number | null;
  created_by: string;
}

export interface McpIntegrationRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: string | null;
  url: string;
  auth_type: string;
  transport: string;
  configurations: string | null;
  secret_mappings: string | null;
  status: 'active' | 'archived';
  owner_id: string;
}

export interface McpCapabilityRow {
  id: string;
  organisation_id: string;
  mcp_integration_id: string;
  type: 'tool' | 'prompt' | 'resource';
  name: string;
  enabled: number;
  created_at: number;
  last_updated_at: number;
}

export interface McpServerRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  mcp_integration_id: string;
  slug: string;
  name: string;
  description: string | null;
  status: 'active' | 'archived';
}

export interface GuardrailMcpMappingRow extends Versioned {
  id: string;
  organisation_id: string;
  guardrail_id: string;
  mcp_server_id: string;
  run_on: string;
  capability_ids: string;
}

export interface UsageLimitPolicyRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string | null;
  description: string | null;
  conditions: string;
  group_by: string;
  type: 'cost' | 'tokens' | 'requests';
  credit_limit_micros: number;
  alert_threshold_micros: number | null;
  periodic_reset: 'weekly' | 'monthly' | null;
  periodic_reset_days: number | null;
  /** First reset as its author gave it; `next_reset_at` moves on from there. */
  first_reset_at: number | null;
  next_reset_at: number | null;
  last_reset_at: number | null;
  status: 'active' | 'archived';
}

export interface UsageEntityRow {
  id: string;
  organisation_id: string;
  subject_kind: 'api_key' | 'workspace' | 'policy';
  subject_id: string;
  value_key: string;
  credit_limit_micros: number;
  alert_threshold_micros: number | null;
  used_micros: number;
  reserved_micros: number;
  status: 'active' | 'exhausted';
  threshold_alert_sent: number;
  exhausted_alert_sent: number;
  periodic_reset: 'weekly' | 'monthly' | null;
  periodic_reset_days: number | null;
  next_reset_at: number | null;
  last_reset_at: number | null;
  version: Generated<number>;
  created_at: number;
}

export interface UsageResetRow {
  subject_kind: string;
  subject_id: string;
  boundary_at: number;
  organisation_id: string;
  reset_at: number;
  next_reset_at: number | null;
  skipped_windows: number;
  used_micros: number;
}

export interface JobRunRow {
  name: string;
  bucket: number;
  owner: string;
  state: 'running' | 'done' | 'failed';
  attempt: number;
  lease_until: number;
  started_at: number;
  finished_at: number | null;
  counts: string | null;
  error: string | null;
}

/** Every table of the database, for the query builder. */
export interface Tables {
  organisations: OrganisationRow;
  service_accounts: ServiceAccountRow;
  access_policies: AccessPolicyRow;
  deployment: { name: string; value: string };
  audit_log: AuditRow;
  managed_resources: ManagedResourceRow;
  workspaces: WorkspaceRow;
  guardrails: GuardrailRow;
  guardrail_versions: GuardrailVersionRow;
  configs: ConfigRow;
  config_versions: ConfigVersionRow;
  api_keys: ApiKeyRow;
  mcp_integrations: McpIntegrationRow;
  mcp_capabilities: McpCapabilityRow;
  mcp_servers: McpServerRow;
  guardrail_mcp_mappings: GuardrailMcpMappingRow;
  usage_limit_policies: UsageLimitPolicyRow;
  usage_entities: UsageEntityRow;
  usage_resets: UsageResetRow;
  job_runs: JobRunRow;
}
