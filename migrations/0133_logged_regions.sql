-- Regions whose own databases have log rows of an organisation, so that home can say where they are.
CREATE TABLE IF NOT EXISTS logged_regions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  region VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  last_hour BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, region)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
