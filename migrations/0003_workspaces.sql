-- Workspaces and their limits. Limits are stored as sent; the window they are counted in is in usage_budgets.
CREATE TABLE IF NOT EXISTS workspaces (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slug VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  description TEXT NULL,
  icon VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  scope_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  defaults LONGTEXT NULL,
  usage_limits LONGTEXT NULL,
  rate_limits LONGTEXT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  is_default TINYINT NOT NULL DEFAULT 0,
  api_key_max_ttl_days INT UNSIGNED NULL,
  settings LONGTEXT NULL,
  created_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY workspaces_slug (organisation_id, slug),
  KEY workspaces_list (organisation_id, status, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
