/** Lists the tables of MCP and of people that a sealed snapshot contains, with their columns. */
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
import { byId, type SnapshotTable, tenant } from './snapshot-table.ts';

export const mcpSnapshotTables = {
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
      'disabled_client_capabilities',
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
      'disabled_client_capabilities',
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
