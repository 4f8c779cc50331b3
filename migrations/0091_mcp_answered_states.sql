-- Request states of MCP calls that a retry has answered, so that one call is counted once.
CREATE TABLE IF NOT EXISTS mcp_answered_states (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY mcp_answered_states_expiry (organisation_id, expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
