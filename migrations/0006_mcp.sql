-- MCP integrations, their capabilities, the workspace servers made from them, and guardrails mapped to servers.
CREATE TABLE IF NOT EXISTS mcp_integrations (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  description TEXT NULL,
  url VARCHAR(2048) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  auth_type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  transport VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  configurations LONGTEXT NULL,
  secret_mappings LONGTEXT NULL,
  global_workspace_access LONGTEXT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY mcp_integrations_slug (organisation_id, slug),
  KEY mcp_integrations_list (organisation_id, workspace_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS mcp_capabilities (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  type VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARBINARY(1020) NOT NULL,
  enabled TINYINT NOT NULL,
  facts LONGTEXT NULL,
  last_seen_at BIGINT NULL,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY mcp_capabilities_identity (organisation_id, mcp_integration_id, type, name),
  KEY mcp_capabilities_enabled (organisation_id, enabled)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS mcp_servers (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  description TEXT NULL,
  default_user_access VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY mcp_servers_slug (organisation_id, slug),
  KEY mcp_servers_list (organisation_id, workspace_id, id),
  KEY mcp_servers_integration (organisation_id, mcp_integration_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS guardrail_mcp_mappings (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  guardrail_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_server_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_on LONGTEXT NOT NULL,
  capability_ids LONGTEXT NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY guardrail_mcp_mappings_pair (organisation_id, guardrail_id, mcp_server_id),
  KEY guardrail_mcp_mappings_server (organisation_id, mcp_server_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
