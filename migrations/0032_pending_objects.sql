-- Objects that providers are asked to make, from before the request goes out until it is known what came of it.
CREATE TABLE IF NOT EXISTS pending_objects (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  provider VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  account VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mark CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at BIGINT NOT NULL,
  look_at BIGINT NOT NULL,
  found_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY pending_objects_due (look_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
