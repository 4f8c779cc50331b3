-- Scopes of the access service: named sets of resources, which clients make before a workspace.
CREATE TABLE IF NOT EXISTS iam_scopes (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  description TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  resources LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
