-- Usage-limit and rate-limit policies, budgets of API keys and workspaces, the counters of their windows, and the windows that ended.
-- Amounts are whole units: micro-dollars where the type is cost, else tokens or requests.
CREATE TABLE IF NOT EXISTS usage_limit_policies (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  description TEXT NULL,
  conditions LONGTEXT NOT NULL,
  group_by LONGTEXT NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  credit_limit_units BIGINT NOT NULL,
  alert_threshold_units BIGINT NULL,
  periodic_reset VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  periodic_reset_days SMALLINT UNSIGNED NULL,
  first_reset_at BIGINT NULL,
  window_start BIGINT NOT NULL,
  next_reset_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY usage_limit_policies_list (organisation_id, workspace_id, id),
  KEY usage_limit_policies_due (status, next_reset_at),
  CONSTRAINT usage_limit_policies_credit_limit CHECK (credit_limit_units >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Rate-limit policies: how many requests or tokens there may be in a time. What they have counted is in rate_counters.
CREATE TABLE IF NOT EXISTS rate_limit_policies (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  description TEXT NULL,
  conditions LONGTEXT NOT NULL,
  group_by LONGTEXT NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  unit VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value BIGINT NOT NULL,
  target VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY rate_limit_policies_list (organisation_id, workspace_id, id),
  CONSTRAINT rate_limit_policies_value CHECK (value >= 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What an API key, workspace, provider, workspace in an integration or each other workspace in it may use, and the window it is in; a policy carries the same columns itself.
CREATE TABLE IF NOT EXISTS usage_budgets (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  credit_limit_units BIGINT NOT NULL,
  alert_threshold_units BIGINT NULL,
  periodic_reset VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  periodic_reset_days SMALLINT UNSIGNED NULL,
  window_start BIGINT NOT NULL,
  next_reset_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id),
  KEY usage_budgets_due (next_reset_at),
  CONSTRAINT usage_budgets_credit_limit CHECK (credit_limit_units >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What was used in one window: by any of those (value_key ''), or by one value of a policy's group_by.
-- A counter that does not exist is nought, so that a new window needs no write here.
CREATE TABLE IF NOT EXISTS usage_counters (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind ENUM('api_key', 'workspace', 'provider', 'integration_workspace', 'policy', 'token', 'integration') NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  value_key VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  used_units BIGINT NOT NULL DEFAULT 0,
  reserved_units BIGINT NOT NULL DEFAULT 0,
  assumed_units BIGINT NOT NULL DEFAULT 0,
  wanted_at BIGINT NULL,
  threshold_alert_units BIGINT NULL,
  exhausted_alert_units BIGINT NULL,
  last_reset_at BIGINT NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id, window_start, id),
  CONSTRAINT usage_counters_used CHECK (used_units >= 0),
  CONSTRAINT usage_counters_reserved CHECK (reserved_units >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Windows that ended: the record of every reset, and what says which counters are old.
CREATE TABLE IF NOT EXISTS usage_windows (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind ENUM('api_key', 'workspace', 'provider', 'integration_workspace', 'policy', 'token', 'integration') NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  closed_at BIGINT NOT NULL,
  skipped_windows INT UNSIGNED NOT NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id, window_start),
  KEY usage_windows_ended (ended_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
