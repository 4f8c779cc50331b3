-- What people and programs say of answers, by the trace of the request.
CREATE TABLE IF NOT EXISTS feedback (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  trace_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  value SMALLINT NOT NULL,
  weight_units INT NOT NULL,
  metadata LONGTEXT NOT NULL,
  created_by VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY feedback_trace (organisation_id, trace_id),
  KEY feedback_created (organisation_id, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
