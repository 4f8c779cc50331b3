-- Who changed what, which declared manifest a resource belongs to, who writes for an owner now, and what
-- is written first when something is decided about several resources of an organisation at once.
-- `at` stands in the key so that the log can be cut into partitions of time and dropped by them;
-- what begins with chain is a row's place in its organisation's chain (0021), null until the row is sealed.
CREATE TABLE IF NOT EXISTS audit_log (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  actor_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  actor_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  action VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_kind VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  changes LONGTEXT NOT NULL,
  chain_position BIGINT UNSIGNED NULL,
  chain_previous BINARY(16) NULL,
  chain_hash BINARY(32) NULL,
  PRIMARY KEY (organisation_id, at, id),
  KEY audit_log_resource (organisation_id, resource_id, at),
  KEY audit_log_chain (organisation_id, chain_position, at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS managed_resources (
  kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resource_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  name VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  recorded_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  source LONGTEXT NOT NULL,
  last_applied LONGTEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, kind, resource_id),
  UNIQUE KEY managed_resources_identity (organisation_id, kind, workspace, name),
  KEY managed_resources_owner (organisation_id, owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sync_leases (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number INT UNSIGNED NOT NULL,
  principal_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  holder VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  held_since BIGINT NOT NULL,
  yields BOOLEAN NOT NULL,
  fence BIGINT UNSIGNED NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, owner),
  UNIQUE KEY sync_leases_number (organisation_id, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What tells two states of an organisation apart: each change writes a new mark into one of the slots.
CREATE TABLE IF NOT EXISTS snapshot_marks (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slot TINYINT UNSIGNED NOT NULL,
  mark BINARY(16) NOT NULL,
  PRIMARY KEY (organisation_id, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS organisation_locks (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  version INT UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
