-- Calls of MCP servers in the log of requests: the slug of the server, and the tool, prompt or resource.
ALTER TABLE request_logs ADD COLUMN mcp_server VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE request_logs ADD COLUMN mcp_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
