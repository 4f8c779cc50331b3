-- Definitions of tools, prompts and resources: the approved one and the newest one that the server has shown.
CREATE TABLE IF NOT EXISTS mcp_definitions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mcp_integration_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  type VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARBINARY(1020) NOT NULL,
  approved_digest VARCHAR(71) CHARACTER SET ascii COLLATE ascii_bin NULL,
  approved LONGTEXT NULL,
  approved_at BIGINT NULL,
  seen_digest VARCHAR(71) CHARACTER SET ascii COLLATE ascii_bin NULL,
  seen LONGTEXT NULL,
  seen_at BIGINT NULL,
  warnings LONGTEXT NULL,
  PRIMARY KEY (organisation_id, mcp_integration_id, type, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE mcp_integrations ADD COLUMN definition_policy VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NULL;
-- Who stated the approved definitions: first_sync or declared; null before there are any.
ALTER TABLE mcp_integrations ADD COLUMN definitions_from VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE mcp_servers ADD COLUMN definition_policy VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NULL;
