-- Job runs: the unique row (name, bucket) is both the lock of a run and the record of it.
CREATE TABLE IF NOT EXISTS job_runs (
  name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bucket BIGINT NOT NULL,
  owner VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  attempt INT UNSIGNED NOT NULL DEFAULT 1,
  lease_until BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  finished_at BIGINT NULL,
  counts LONGTEXT NULL,
  error TEXT NULL,
  PRIMARY KEY (name, bucket),
  KEY job_runs_state (name, state, finished_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
