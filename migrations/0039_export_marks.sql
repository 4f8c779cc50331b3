-- As snapshot_marks, of exports of the log of requests.
CREATE TABLE IF NOT EXISTS export_marks (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slot TINYINT UNSIGNED NOT NULL,
  mark BINARY(16) NOT NULL,
  PRIMARY KEY (organisation_id, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
