-- The files that sync read last for each owner, so that the server can propose changes of manifests.
-- They are sealed, because they may contain documents of other programs. NULL records that they were too large.
CREATE TABLE IF NOT EXISTS sync_sources (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  commit_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  files MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
  stored_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
