-- Gateway API keys; key_mask is what lists show of their values.
CREATE TABLE IF NOT EXISTS api_keys (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  description TEXT NULL,
  key_mask VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  creation_mode VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scopes LONGTEXT NOT NULL,
  rate_limits LONGTEXT NULL,
  usage_limits LONGTEXT NULL,
  metadata LONGTEXT NULL,
  config_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  allow_config_override TINYINT NULL,
  alert_emails LONGTEXT NULL,
  expires_at BIGINT NULL,
  rotation_policy LONGTEXT NULL,
  rotated_at BIGINT NULL,
  transition_expires_at BIGINT NULL,
  last_reset_at BIGINT NULL,
  last_used_at BIGINT NULL,
  created_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY api_keys_list (organisation_id, workspace_id, id),
  KEY api_keys_user (organisation_id, user_id),
  KEY api_keys_expiry (status, expires_at),
  KEY api_keys_config (organisation_id, config_id),
  CONSTRAINT api_keys_status CHECK (status IN ('active', 'expired'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Values by which keys are known: only their HMAC is kept. A key has one, and two while it is rotated.
-- Global: a caller's key is what says which organisation it is of.
CREATE TABLE IF NOT EXISTS api_key_hashes (
  hash BINARY(32) NOT NULL PRIMARY KEY,
  pepper_id CHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  valid_from BIGINT NOT NULL,
  valid_until BIGINT NULL,
  KEY api_key_hashes_key (organisation_id, api_key_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
