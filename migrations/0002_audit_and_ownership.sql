-- Who changed what, and which declared manifest a resource belongs to.
CREATE TABLE IF NOT EXISTS audit_log (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  at BIGINT NOT NULL,
  actor_kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  actor_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  action VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  changes LONGTEXT NOT NULL,
  KEY audit_log_organisation (organisation_id, at),
  KEY audit_log_resource (resource_id, at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS managed_resources (
  kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  name VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  source LONGTEXT NOT NULL,
  last_applied LONGTEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (kind, resource_id),
  UNIQUE KEY managed_resources_identity (organisation_id, kind, workspace, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
