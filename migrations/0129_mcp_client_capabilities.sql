-- Capabilities of clients that a server may not use, as a JSON list; null for none.
ALTER TABLE mcp_integrations ADD COLUMN disabled_client_capabilities VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE mcp_servers ADD COLUMN disabled_client_capabilities VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL;
