-- Conversations that the gateway stores for callers: their items, and the response that is being added.
CREATE TABLE IF NOT EXISTS conversations (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  metadata TEXT NOT NULL,
  next_position BIGINT NOT NULL,
  item_bytes BIGINT NOT NULL,
  response_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  response_until BIGINT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY conversations_used (used_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS conversation_items (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  conversation_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  position BIGINT NOT NULL,
  item_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item LONGTEXT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, conversation_id, position),
  KEY conversation_items_id (organisation_id, conversation_id, item_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
