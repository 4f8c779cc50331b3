-- Defaults of organisations for calls of MCP tools; null lists nothing.
ALTER TABLE organisation_defaults ADD COLUMN mcp_input_guardrails TEXT CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE organisation_defaults ADD COLUMN mcp_output_guardrails TEXT CHARACTER SET ascii COLLATE ascii_bin NULL;
