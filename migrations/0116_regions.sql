-- What a region has borrowed of each counter from its home, the holder by which home knows it, and the totals of requests
-- that home does not have yet.
CREATE TABLE IF NOT EXISTS region_holders (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  origin BINARY(16) NOT NULL,
  holder BINARY(16) NOT NULL,
  sequence BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL,
  request MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  attempted_at BIGINT NOT NULL,
  polled_at BIGINT NOT NULL,
  swept_at BIGINT NOT NULL,
  home_holders INT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS region_loans (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  is_rate TINYINT NOT NULL,
  subject_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  subject_id BINARY(16) NOT NULL,
  window_start BIGINT NOT NULL,
  counter_id BINARY(16) NOT NULL,
  value_key VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ends_at BIGINT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  label TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  limit_units BIGINT NOT NULL,
  alert_threshold_units BIGINT NULL,
  units BIGINT NOT NULL,
  reported_units BIGINT NOT NULL,
  is_new TINYINT NOT NULL,
  due_at BIGINT NULL,
  moved_at BIGINT NOT NULL,
  home_used_units BIGINT NOT NULL,
  home_reserved_units BIGINT NOT NULL,
  home_refused_units BIGINT NULL,
  home_refused_limit_units BIGINT NULL,
  short_at BIGINT NULL,
  answered_at BIGINT NULL,
  recalled_at BIGINT NULL,
  scarce_at BIGINT NULL,
  noted_units BIGINT NOT NULL,
  recent_units BIGINT NOT NULL,
  others_units BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, is_rate, subject_kind, subject_id, window_start, counter_id),
  KEY region_loans_due (due_at, organisation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS region_unsent_totals (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  began_at BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  version BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, began_at, id),
  KEY region_unsent_totals_changed (changed_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
