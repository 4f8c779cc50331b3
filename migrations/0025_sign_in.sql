-- Scopes of the access service: named sets of resources, which clients make before a workspace.
CREATE TABLE IF NOT EXISTS iam_scopes (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  description TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  resources LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who an account of the identity provider is here: a digest of issuer and subject, bound at its first sign-in.
CREATE TABLE IF NOT EXISTS user_identities (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_hash BINARY(32) NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, user_id),
  UNIQUE KEY user_identities_subject (organisation_id, subject_hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- People who are signed in. Of the token only its HMAC is kept; the other digests are what the identity
-- provider names when it ends sessions.
CREATE TABLE IF NOT EXISTS user_sessions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  token_hmac BINARY(32) NOT NULL,
  subject_hash BINARY(32) NOT NULL,
  provider_session_hash BINARY(32) NULL,
  last_used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY user_sessions_user (organisation_id, user_id),
  KEY user_sessions_subject (subject_hash),
  KEY user_sessions_provider_session (provider_session_hash),
  KEY user_sessions_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
