-- Answers to changes that carried an Idempotency-Key, each written in the transaction of its change and
-- sealed, because it may hold the value of a new API key.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  principal_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  request_hash BINARY(32) NOT NULL,
  answer LONGTEXT CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, principal_id, idempotency_key),
  KEY idempotency_keys_age (created_at, organisation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
