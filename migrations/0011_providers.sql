-- Integrations (accounts at providers of models), which workspaces may use them, and the providers that workspaces
-- make of them. Secret values within are sealed before they come here.
CREATE TABLE IF NOT EXISTS integrations (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  description TEXT NULL,
  ai_provider VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  sealed_key LONGTEXT NULL,
  key_mask VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  configurations LONGTEXT NULL,
  secret_mappings LONGTEXT NULL,
  pricing_adjustments LONGTEXT NULL,
  tags LONGTEXT NULL,
  capabilities LONGTEXT NULL,
  models LONGTEXT NULL,
  allow_all_models TINYINT NOT NULL,
  global_workspace_access LONGTEXT NULL,
  creation_mode VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY integrations_slug (organisation_id, slug),
  KEY integrations_list (organisation_id, workspace_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What one workspace may do with an integration of the organisation; without a row what the integration says of all.
CREATE TABLE IF NOT EXISTS integration_workspaces (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  enabled TINYINT NOT NULL,
  usage_limits LONGTEXT NULL,
  rate_limits LONGTEXT NULL,
  last_reset_at BIGINT NULL,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY integration_workspaces_pair (organisation_id, integration_id, workspace_id),
  KEY integration_workspaces_workspace (organisation_id, workspace_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS providers (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  note TEXT NULL,
  usage_limits LONGTEXT NULL,
  rate_limits LONGTEXT NULL,
  expires_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  creation_mode VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY providers_slug (organisation_id, workspace_id, slug),
  KEY providers_integration (organisation_id, integration_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
