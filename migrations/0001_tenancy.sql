-- Organisations (one a tenant service group), service accounts, role assignments, and the keys under the master key.
CREATE TABLE IF NOT EXISTS organisations (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  tsg_id CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  parent_tsg_id CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  api_key_max_ttl_days INT UNSIGNED NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NULL,
  UNIQUE KEY organisations_tsg_id (tsg_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS service_accounts (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  tsg_id CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  client_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  secret_hmac BINARY(32) NOT NULL,
  pepper_id CHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE KEY service_accounts_client_id (client_id),
  UNIQUE KEY service_accounts_name (tsg_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS access_policies (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  tsg_id CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  principal VARCHAR(320) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  role VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE KEY access_policies_grant (principal, resource, role),
  KEY access_policies_tsg_id (tsg_id, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS deployment (
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  value VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS data_keys (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  master_key_id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  wrapped_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  KEY data_keys_master_key_id (master_key_id, organisation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
