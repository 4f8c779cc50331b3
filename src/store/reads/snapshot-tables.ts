/** Lists the tables and columns that a sealed snapshot contains: every row that serving a request reads. */
import type { Selectable } from 'kysely';
import type { Tables } from '../connection/db.ts';
// Each of these files declares the row types of its tables.
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
import { mcpSnapshotTables } from './mcp-snapshot-tables.ts';
import { promptSnapshotTables } from './prompt-snapshot-tables.ts';
import { byId, type SnapshotTable, tenant } from './snapshot-table.ts';

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
      'outage_units',
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
      'outage_units',
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
  ...promptSnapshotTables,
  ...mcpSnapshotTables,
} as const satisfies { readonly [T in keyof Tables]?: SnapshotTable<T> };

export type SnapshotTableName = keyof typeof snapshotTables;

/** A row as a snapshot holds it, with the values that the database would return. */
export type SnapshotRow<T extends SnapshotTableName> = Pick<
  Selectable<Tables[T]>,
  (typeof snapshotTables)[T]['columns'][number] & keyof Selectable<Tables[T]>
>;

export type SnapshotColumn<T extends SnapshotTableName> = keyof SnapshotRow<T> & string;
