-- When transactions have stored rows of the log, so that a live log finds rows that become visible late.
CREATE TABLE IF NOT EXISTS request_log_batches (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  stored_at BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  first_ended_at BIGINT NOT NULL,
  last_ended_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, stored_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
