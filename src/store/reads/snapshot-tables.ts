/** Lists the tables and columns that a sealed snapshot contains: every row that serving a request reads. */
import type { Selectable } from 'kysely';
import type { Tables } from '../connection/db.ts';
// Each of these files declares the row types of its tables.
import type {} from '../mcp/mcp-capabilities.ts';
import type {} from '../mcp/mcp-definitions.ts';
import type {} from '../mcp/mcp-integration-workspaces.ts';
import type {} from '../mcp/mcp-integrations.ts';
import type {} from '../mcp/mcp-server-capabilities.ts';
import type {} from '../mcp/mcp-server-users.ts';
import type {} from '../mcp/mcp-servers.ts';
import type {} from '../people/users.ts';
import type {} from '../people/workspace-members.ts';
import type {} from '../prompts/prompt-labels.ts';
import type {} from '../prompts/prompt-partials.ts';
import type {} from '../prompts/prompt-versions.ts';
import type {} from '../prompts/prompts.ts';
import type {} from '../resources/api-keys.ts';
import type {} from '../resources/configs.ts';
import type {} from '../resources/data-keys.ts';
import type {} from '../resources/guardrail-exclusions.ts';
import type {} from '../resources/guardrail-mappings.ts';
import type {} from '../resources/guardrails.ts';
import type {} from '../resources/integration-workspaces.ts';
import type {} from '../resources/integrations.ts';
import type {} from '../resources/organisation-defaults.ts';
import type {} from '../resources/organisations.ts';
import type {} from '../resources/providers.ts';
import type {} from '../resources/rate-limit-policies.ts';
import type {} from '../resources/secret-references.ts';
import type {} from '../resources/usage-limit-policies.ts';
import type {} from '../resources/workspaces.ts';
import type {} from '../usage/usage-budgets.ts';

interface SnapshotTable<T extends keyof Tables> {
  readonly columns: readonly (keyof Tables[T] & string)[];
  /** Columns that no request reads, or that change without a mark. */
  readonly omitted: readonly (keyof Tables[T] & string)[];
  /** Primary key without the organisation; rows are in its order. */
  readonly key: readonly (keyof Tables[T] & string)[];
  /** Rows with equal values are in one part. ASCII or binary. */
  readonly partBy: keyof Tables[T] & string;
  /** The column with the id of the organisation. */
  readonly tenant: keyof Tables[T] & string;
}

const policyColumns = [
  'id',
  'organisation_id',
  'workspace_id',
  'name',
  'conditions',
  'group_by',
  'status',
  'version',
  'created_at',
  'last_updated_at',
] as const;

const windowColumns = [
  'periodic_reset',
  'periodic_reset_days',
  'window_start',
  'next_reset_at',
  'last_reset_at',
] as const;

const tenant = 'organisation_id';
const byId = { key: ['id'], partBy: 'id', tenant } as const;

export const snapshotTables = {
  organisations: {
    columns: ['id', 'tsg_id', 'parent_tsg_id', 'created_at', 'deleted_at'],
    omitted: ['name', 'api_key_max_ttl_days', 'provisions_users', 'version', 'last_updated_at'],
    key: ['id'],
    partBy: 'id',
    tenant: 'id',
  },
  api_key_hashes: {
    columns: ['hash', 'organisation_id', 'api_key_id', 'valid_until'],
    omitted: ['pepper_id', 'valid_from'],
    key: ['hash'],
    partBy: 'hash',
    tenant,
  },
  api_keys: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'user_id',
      'type',
      'name',
      'status',
      'scopes',
      'rate_limits',
      'usage_limits',
      'metadata',
      'config_id',
      'allow_config_override',
      'expires_at',
    ],
    omitted: [
      'description',
      'key_mask',
      'creation_mode',
      'alert_emails',
      'rotation_policy',
      'rotated_at',
      'transition_expires_at',
      'last_reset_at',
      'last_used_at',
      'created_by',
      'version',
      'created_at',
      'last_updated_at',
    ],
    ...byId,
  },
  workspaces: {
    columns: [
      'id',
      'organisation_id',
      'slug',
      'name',
      'scope_name',
      'defaults',
      'usage_limits',
      'rate_limits',
      'status',
      'is_default',
      'settings',
      'security_settings',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [
      'description',
      'icon',
      'api_key_max_ttl_days',
      'created_by',
      'guardrails_version',
      'own_version',
    ],
    ...byId,
  },
  organisation_defaults: {
    columns: [
      'organisation_id',
      'id',
      'input_guardrails',
      'output_guardrails',
      'mcp_input_guardrails',
      'mcp_output_guardrails',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['denied_export_fields', 'input_exclusions_version', 'output_exclusions_version'],
    ...byId,
  },
  guardrail_exclusions: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'input_guardrails',
      'output_guardrails',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  configs: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'config',
      'is_default',
      'status',
      'version_id',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['owner_id', 'updated_by'],
    ...byId,
  },
  guardrails: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'target',
      'status',
      'checks',
      'actions',
      'version_id',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['owner_id', 'updated_by', 'mappings_version'],
    ...byId,
  },
  guardrail_mcp_mappings: {
    columns: [
      'id',
      'organisation_id',
      'guardrail_id',
      'mcp_server_id',
      'run_on',
      'capability_ids',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  usage_budgets: {
    columns: [
      'organisation_id',
      'subject_kind',
      'subject_id',
      'workspace_id',
      'type',
      'credit_limit_units',
      'alert_threshold_units',
      ...windowColumns,
      'created_at',
    ],
    omitted: [],
    key: ['subject_kind', 'subject_id'],
    partBy: 'subject_id',
    tenant,
  },
  usage_limit_policies: {
    columns: [
      ...policyColumns,
      ...windowColumns,
      'type',
      'credit_limit_units',
      'alert_threshold_units',
      'first_reset_at',
    ],
    omitted: ['description'],
    ...byId,
  },
  rate_limit_policies: {
    columns: [...policyColumns, 'type', 'unit', 'value', 'target'],
    omitted: ['description'],
    ...byId,
  },
  providers: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'integration_id',
      'slug',
      'name',
      'usage_limits',
      'rate_limits',
      'expires_at',
      'last_reset_at',
      'tags',
      'creation_mode',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['note'],
    ...byId,
  },
  integrations: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'ai_provider',
      'sealed_key',
      'configurations',
      'secret_mappings',
      'pricing_adjustments',
      'tags',
      'capabilities',
      'models',
      'allow_all_models',
      'global_workspace_access',
      'creation_mode',
      'status',
      'owner_id',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['description', 'key_mask'],
    ...byId,
  },
  integration_workspaces: {
    columns: [
      'id',
      'organisation_id',
      'integration_id',
      'workspace_id',
      'enabled',
      'usage_limits',
      'rate_limits',
      'last_reset_at',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  secret_references: {
    columns: [
      'id',
      'organisation_id',
      'slug',
      'name',
      'manager_type',
      'auth_config',
      'secret_path',
      'secret_key',
      'allow_all_workspaces',
      'allowed_hosts',
      'tags',
      'created_by',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['description'],
    ...byId,
  },
  secret_reference_workspaces: {
    columns: ['organisation_id', 'secret_reference_id', 'workspace_id'],
    omitted: [],
    key: ['secret_reference_id', 'workspace_id'],
    partBy: 'secret_reference_id',
    tenant,
  },
  prompts: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'collection_id',
      'slug',
      'name',
      'model',
      'content',
      'version_id',
      'version_number',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  prompt_versions: {
    columns: [
      'organisation_id',
      'resource_id',
      'number',
      'id',
      'name',
      'content',
      'label_id',
      'created_by',
      'created_at',
    ],
    omitted: [],
    key: ['resource_id', 'number'],
    partBy: 'resource_id',
    tenant,
  },
  prompt_labels: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'place',
      'name',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['description', 'color_code'],
    ...byId,
  },
  prompt_partials: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'status',
      'content',
      'version_id',
      'version_number',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  mcp_servers: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'mcp_integration_id',
      'slug',
      'name',
      'description',
      'default_user_access',
      'definition_policy',
      'status',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  mcp_integrations: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'description',
      'url',
      'auth_type',
      'transport',
      'configurations',
      'secret_mappings',
      'global_workspace_access',
      'definition_policy',
      'definitions_from',
      'status',
      'owner_id',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  mcp_integration_workspaces: {
    columns: [
      'id',
      'organisation_id',
      'mcp_integration_id',
      'workspace_id',
      'enabled',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  mcp_capabilities: {
    columns: ['id', 'organisation_id', 'mcp_integration_id', 'type', 'name', 'enabled', 'facts'],
    omitted: ['last_seen_at', 'created_at', 'last_updated_at'],
    key: ['id'],
    partBy: 'mcp_integration_id',
    tenant,
  },
  mcp_definitions: {
    columns: [
      'organisation_id',
      'mcp_integration_id',
      'type',
      'name',
      'approved_digest',
      'seen_digest',
    ],
    omitted: ['approved', 'approved_at', 'seen', 'seen_at', 'warnings'],
    key: ['mcp_integration_id', 'type', 'name'],
    partBy: 'mcp_integration_id',
    tenant,
  },
  mcp_server_capabilities: {
    columns: ['organisation_id', 'mcp_server_id', 'type', 'name', 'enabled'],
    omitted: ['created_at', 'last_updated_at'],
    key: ['mcp_server_id', 'type', 'name'],
    partBy: 'mcp_server_id',
    tenant,
  },
  mcp_server_users: {
    columns: [
      'organisation_id',
      'mcp_server_id',
      'user_id',
      'enabled',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    key: ['mcp_server_id', 'user_id'],
    partBy: 'mcp_server_id',
    tenant,
  },
  users: {
    columns: [
      'id',
      'organisation_id',
      'email',
      'email_key',
      'first_name',
      'last_name',
      'role',
      'status',
    ],
    omitted: ['source', 'external_id', 'version', 'created_at', 'last_updated_at'],
    ...byId,
  },
  workspace_members: {
    columns: ['organisation_id', 'workspace_id', 'user_id', 'role'],
    omitted: ['source', 'version', 'created_at', 'last_updated_at'],
    key: ['workspace_id', 'user_id'],
    partBy: 'user_id',
    tenant,
  },
} as const satisfies { readonly [T in keyof Tables]?: SnapshotTable<T> };

export type SnapshotTableName = keyof typeof snapshotTables;

/** A row as a snapshot holds it, with the values that the database would return. */
export type SnapshotRow<T extends SnapshotTableName> = Pick<
  Selectable<Tables[T]>,
  (typeof snapshotTables)[T]['columns'][number] & keyof Selectable<Tables[T]>
>;

export type SnapshotColumn<T extends SnapshotTableName> = keyof SnapshotRow<T> & string;
