-- The sealed snapshot that gateways serve from while the database is away: its head with the lease of its builder, its
-- sealed parts, and which marks its newest state contains.
CREATE TABLE IF NOT EXISTS snapshot_heads (
  name VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  holder VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  fence BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  etag BINARY(32) NULL,
  body MEDIUMBLOB NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS snapshot_parts (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  etag BINARY(32) NOT NULL,
  body LONGBLOB NOT NULL,
  garbage_after BIGINT NULL,
  PRIMARY KEY (organisation_id, etag),
  KEY snapshot_parts_garbage (garbage_after)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE snapshot_marks ADD COLUMN built_mark BINARY(16) NULL;
ALTER TABLE snapshot_marks ADD COLUMN is_built TINYINT AS (IF(mark <=> built_mark, 1, 0)) STORED;
ALTER TABLE snapshot_marks ADD KEY snapshot_marks_built (is_built, organisation_id);
ALTER TABLE people_marks ADD COLUMN built_mark BINARY(16) NULL;
ALTER TABLE people_marks ADD COLUMN is_built TINYINT AS (IF(mark <=> built_mark, 1, 0)) STORED;
ALTER TABLE people_marks ADD KEY people_marks_built (is_built, organisation_id);
