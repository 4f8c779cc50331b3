-- Gateways that an organisation runs: where they answer, which workspaces they serve, and by what they say who they are.
CREATE TABLE IF NOT EXISTS gateway_deployments (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  source_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  is_default TINYINT NOT NULL,
  auth_settings LONGTEXT NOT NULL,
  allow_all_workspaces TINYINT NOT NULL,
  workspace_ids LONGTEXT NOT NULL,
  deployment_config LONGTEXT NULL,
  tags LONGTEXT NULL,
  client_auth_hash BINARY(32) NOT NULL,
  client_auth_mask VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_by CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY gateway_deployments_slug (organisation_id, slug)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
