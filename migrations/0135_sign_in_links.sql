-- One-time links that sign a user in without an identity provider. Only the HMAC of the secret is stored.
CREATE TABLE IF NOT EXISTS sign_in_links (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  secret_hmac BINARY(32) NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY sign_in_links_user (organisation_id, user_id),
  KEY sign_in_links_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A session that a link has opened belongs to no account of an identity provider.
ALTER TABLE user_sessions MODIFY COLUMN subject_hash BINARY(32) NULL;
