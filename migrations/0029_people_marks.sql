-- As snapshot_marks, of users, invites, members of workspaces, groups of a directory and their mappings.
CREATE TABLE IF NOT EXISTS people_marks (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slot TINYINT UNSIGNED NOT NULL,
  mark BINARY(16) NOT NULL,
  PRIMARY KEY (organisation_id, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
