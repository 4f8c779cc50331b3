-- What runs of sync have told of themselves: where each owner stands, what each revision changed, and
-- which of its workspaces are paused. Everything hangs on an owner, so on its row in sync_leases.
CREATE TABLE IF NOT EXISTS sync_status (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  report LONGTEXT NOT NULL,
  told_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sync_revisions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number INT UNSIGNED NOT NULL,
  commit_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  source TEXT NOT NULL,
  ending VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  change_count INT UNSIGNED NOT NULL,
  recorded_count INT UNSIGNED NOT NULL,
  started_at BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  recorded_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, owner, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sync_revision_changes (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  revision INT UNSIGNED NOT NULL,
  start INT UNSIGNED NOT NULL,
  changes LONGTEXT NOT NULL,
  PRIMARY KEY (organisation_id, owner, revision, start)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sync_suspensions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  until BIGINT NULL,
  reason TEXT NOT NULL,
  suspended_by VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  suspended_at BIGINT NOT NULL,
  rolled_back_to INT UNSIGNED NULL,
  rolled_back_commit VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL,
  PRIMARY KEY (organisation_id, owner, workspace)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
