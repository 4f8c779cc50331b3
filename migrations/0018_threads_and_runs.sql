-- Assistants, threads of messages, and runs with their steps, which the gateway keeps and drives itself.
CREATE TABLE IF NOT EXISTS assistants (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name TEXT NULL,
  description TEXT NULL,
  terms LONGTEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY assistants_list (organisation_id, workspace_id, created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS threads (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  tool_resources TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY threads_used (used_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS thread_messages (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  thread_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  role VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  content LONGTEXT NOT NULL,
  metadata TEXT NOT NULL,
  assistant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  run_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  incomplete_reason VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY thread_messages_list (organisation_id, thread_id, created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A thread has one run at a time that has not ended: of those that have, `active` is null.
CREATE TABLE IF NOT EXISTS runs (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  thread_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  assistant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  active TINYINT NULL,
  terms LONGTEXT NOT NULL,
  metadata TEXT NOT NULL,
  caller TEXT NOT NULL,
  turn INT NOT NULL,
  pending_calls LONGTEXT NULL,
  failure TEXT NULL,
  prompt_tokens BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  lease_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
  lease_until BIGINT NULL,
  lease_count INT NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT NULL,
  ended_at BIGINT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY runs_active (organisation_id, thread_id, active),
  KEY runs_list (organisation_id, thread_id, created_at, id),
  KEY runs_lost (active, lease_until),
  KEY runs_due (active, expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS run_steps (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  thread_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  assistant_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  place INT NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  details LONGTEXT NOT NULL,
  prompt_tokens BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY run_steps_place (organisation_id, run_id, place),
  KEY run_steps_thread (organisation_id, thread_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
