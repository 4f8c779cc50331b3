-- Which workspaces may use the MCP integrations of an organisation.
CREATE TABLE IF NOT EXISTS mcp_integration_workspaces (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  enabled TINYINT NOT NULL,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY mcp_integration_workspaces_pair (organisation_id, mcp_integration_id, workspace_id),
  KEY mcp_integration_workspaces_workspace (organisation_id, workspace_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
