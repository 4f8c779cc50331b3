-- What callers keep: whose it is where a provider has it, and responses that the gateway has itself.
-- Objects at providers. One provider may serve many workspaces with one account, which knows them not apart.
CREATE TABLE IF NOT EXISTS owned_objects (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  provider VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT NULL,
  look_at BIGINT NOT NULL,
  account VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (organisation_id, workspace_id, kind, object_id, provider),
  UNIQUE KEY owned_objects_first (organisation_id, kind, object_id, account),
  KEY owned_objects_list (organisation_id, workspace_id, kind, provider, created_at, object_id),
  KEY owned_objects_due (look_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Responses that the gateway keeps. Those that go on from one another have one root.
CREATE TABLE IF NOT EXISTS responses (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  root_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  previous_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  alive_until BIGINT NULL,
  input LONGTEXT NOT NULL,
  record LONGTEXT NOT NULL,
  last_events LONGBLOB NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY responses_root (organisation_id, root_id),
  KEY responses_created (created_at),
  KEY responses_alive (alive_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Events of streams that have not ended, or took long; those that came last stand with their response.
CREATE TABLE IF NOT EXISTS response_events (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  response_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  first_number INT NOT NULL,
  events LONGBLOB NOT NULL,
  PRIMARY KEY (organisation_id, response_id, first_number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
