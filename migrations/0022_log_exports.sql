-- Exports of the log of requests, and the pieces of which their files are made.
CREATE TABLE IF NOT EXISTS log_exports (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  description VARCHAR(4096) NOT NULL,
  filters LONGTEXT NOT NULL,
  selection LONGTEXT NOT NULL,
  requested_data TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  after_at BIGINT NULL,
  after_id BINARY(16) NULL,
  until_at BIGINT NULL,
  records BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  parts INT NOT NULL DEFAULT 0,
  created_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  started_at BIGINT NULL,
  finished_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY log_exports_status (status, organisation_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS log_export_parts (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  export_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number INT NOT NULL,
  blob_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (organisation_id, export_id, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
