-- How far the audit log of an organisation is sealed. Rows are written without a place, so that no change waits
-- for another; the job seal-audit-log gives them one. base is the last that was deleted for its age.
CREATE TABLE IF NOT EXISTS audit_chains (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  base_position BIGINT UNSIGNED NOT NULL,
  base_hash BINARY(32) NOT NULL,
  head_position BIGINT UNSIGNED NOT NULL,
  head_id BINARY(16) NULL,
  head_hash BINARY(32) NOT NULL,
  proof BINARY(32) NOT NULL,
  told_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
