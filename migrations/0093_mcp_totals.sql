-- How many of the requests of hourly totals were calls of MCP servers, and how many of those failed. Earlier totals
-- are of model requests only.
ALTER TABLE request_totals ADD COLUMN mcp_requests BIGINT NOT NULL DEFAULT 0;
ALTER TABLE request_totals ADD COLUMN mcp_errors BIGINT NOT NULL DEFAULT 0;
