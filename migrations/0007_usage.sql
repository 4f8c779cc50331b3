-- Usage-limit policies, the counters they and other limits are measured by, and every reset that happened.
-- Amounts are micro-units (1 USD, 1 token or 1 request = 1,000,000).
CREATE TABLE IF NOT EXISTS usage_limit_policies (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  description TEXT NULL,
  conditions LONGTEXT NOT NULL,
  group_by LONGTEXT NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  credit_limit_micros BIGINT NOT NULL,
  alert_threshold_micros BIGINT NULL,
  periodic_reset VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  periodic_reset_days SMALLINT UNSIGNED NULL,
  first_reset_at BIGINT NULL,
  next_reset_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY usage_limit_policies_list (organisation_id, workspace_id, id),
  KEY usage_limit_policies_due (status, next_reset_at),
  CONSTRAINT usage_limit_policies_credit_limit CHECK (credit_limit_micros >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One counter: an API key's or workspace's budget (value_key ''), or one value of a policy's group_by.
-- Keys and workspaces carry their own schedule here; a policy's entities follow the policy's.
CREATE TABLE IF NOT EXISTS usage_entities (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value_key VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  credit_limit_micros BIGINT NOT NULL,
  alert_threshold_micros BIGINT NULL,
  used_micros BIGINT NOT NULL DEFAULT 0,
  reserved_micros BIGINT NOT NULL DEFAULT 0,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  threshold_alert_sent TINYINT NOT NULL DEFAULT 0,
  exhausted_alert_sent TINYINT NOT NULL DEFAULT 0,
  periodic_reset VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  periodic_reset_days SMALLINT UNSIGNED NULL,
  next_reset_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY usage_entities_subject (organisation_id, subject_kind, subject_id, value_key),
  KEY usage_entities_id (id),
  KEY usage_entities_due (next_reset_at),
  CONSTRAINT usage_entities_used CHECK (used_micros >= 0),
  CONSTRAINT usage_entities_reserved CHECK (reserved_micros >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS usage_resets (
  subject_kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  boundary_at BIGINT NOT NULL,
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reset_at BIGINT NOT NULL,
  next_reset_at BIGINT NULL,
  skipped_windows INT UNSIGNED NOT NULL,
  used_micros BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id, boundary_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
