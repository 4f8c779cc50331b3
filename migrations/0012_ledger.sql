-- Parts of budgets that processes hold to spend without asking, what rate limits have counted, and alerts to send.
-- A process that holds any; all its parts are charged as used when its lease is over.
CREATE TABLE IF NOT EXISTS usage_holders (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  holder BINARY(16) NOT NULL,
  sequence BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, holder),
  KEY usage_holders_due (lease_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What one process holds of one counter: a share of the reserved_units there.
CREATE TABLE IF NOT EXISTS usage_slices (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  holder BINARY(16) NOT NULL,
  is_rate TINYINT NOT NULL,
  subject_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  counter_id BINARY(16) NOT NULL,
  units BIGINT NOT NULL,
  answered_at BIGINT NULL,
  PRIMARY KEY (organisation_id, holder, is_rate, subject_kind, subject_id, window_start, counter_id),
  CONSTRAINT usage_slices_units CHECK (units >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What was admitted under a rate limit in one of its windows; of no more use soon after ends_at.
CREATE TABLE IF NOT EXISTS rate_counters (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  value_key VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  used_units BIGINT NOT NULL DEFAULT 0,
  reserved_units BIGINT NOT NULL DEFAULT 0,
  wanted_at BIGINT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id, window_start, id),
  KEY rate_counters_ended (ends_at),
  CONSTRAINT rate_counters_used CHECK (used_units >= 0),
  CONSTRAINT rate_counters_reserved CHECK (reserved_units >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Alerts about usage, each once: written with the count that calls for it, sent by a job.
CREATE TABLE IF NOT EXISTS usage_alerts (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  counter_id BINARY(16) NOT NULL,
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  limit_units BIGINT NOT NULL,
  used_units BIGINT NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  label VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  value_key VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at BIGINT NOT NULL,
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  attempts INT UNSIGNED NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  sent_at BIGINT NULL,
  last_error VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  PRIMARY KEY (organisation_id, subject_kind, subject_id, window_start, counter_id, kind, limit_units),
  KEY usage_alerts_due (state, due_at),
  CONSTRAINT usage_alerts_kind CHECK (kind IN ('threshold', 'exhausted'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
