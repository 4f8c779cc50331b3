-- What a session of a legacy MCP client with a modern server leaves for other replicas: its log level, its
-- subscriptions, and answers and cancellations for calls of another replica.
CREATE TABLE IF NOT EXISTS mcp_session_notes (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  session_id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, session_id, name),
  KEY mcp_session_notes_key (organisation_id, api_key_id),
  KEY mcp_session_notes_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
