-- What responses and runs at providers were charged before anybody knew what they use, until that is known and the log says it.
CREATE TABLE IF NOT EXISTS open_charges (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  provider VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id BINARY(16) NOT NULL,
  terms LONGTEXT NOT NULL,
  created_at BIGINT NOT NULL,
  look_at BIGINT NOT NULL,
  logged_at BIGINT NULL,
  log_id BINARY(16) NULL,
  totals_id BINARY(16) NULL,
  used LONGTEXT NULL,
  PRIMARY KEY (organisation_id, workspace_id, kind, object_id, run_id, provider),
  KEY open_charges_due (look_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
