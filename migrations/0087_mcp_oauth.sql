-- How a connection was granted and when its token expires; the claim of the one process that refreshes it.
ALTER TABLE mcp_connections ADD COLUMN oauth_grant TEXT CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE mcp_connections ADD COLUMN expires_at BIGINT NULL;
ALTER TABLE mcp_connections ADD COLUMN refresh_claim CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE mcp_connections ADD COLUMN refresh_claimed_until BIGINT NULL;

-- Clients that the gateway has registered at authorization servers, one for each issuer of an integration.
CREATE TABLE IF NOT EXISTS mcp_oauth_clients (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  issuer_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  issuer TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  redirect_uri TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  client_id TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  client_secret TEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
  auth_method VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  expires_at BIGINT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, mcp_integration_id, issuer_hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Authorizations that a user has begun in a browser; the callback deletes the row, so that each is finished once.
CREATE TABLE IF NOT EXISTS mcp_authorizations (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  state_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  browser_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_server_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  verifier TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  request TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, state_hash),
  KEY mcp_authorizations_server (organisation_id, mcp_server_id),
  KEY mcp_authorizations_user (organisation_id, user_id),
  KEY mcp_authorizations_expiry (organisation_id, expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
