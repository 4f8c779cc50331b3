-- What a tenant sees and changes of its service accounts; service_accounts has what authentication needs.
-- Accounts of older builds have no profile: they authenticate, and no request changes them.
CREATE TABLE IF NOT EXISTS service_account_profiles (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  description TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  creation_mode VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  rotation_policy LONGTEXT NULL,
  rotated_at BIGINT NULL,
  transition_expires_at BIGINT NULL,
  created_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY service_account_profiles_name (organisation_id, name),
  KEY service_account_profiles_list (organisation_id, workspace_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE service_accounts ADD COLUMN previous_secret_hmac BINARY(32) NULL;
ALTER TABLE service_accounts ADD COLUMN previous_valid_until BIGINT NULL;
ALTER TABLE service_accounts ADD COLUMN disabled_at BIGINT NULL;
