-- Pages of the log by one property, newest first, also where few of many rows have it.
ALTER TABLE request_logs
  ADD KEY request_logs_model (organisation_id, model, ended_at),
  ADD KEY request_logs_provider (organisation_id, provider, ended_at),
  ADD KEY request_logs_status (organisation_id, status, ended_at),
  ADD KEY request_logs_verdict (organisation_id, guardrail_verdict, ended_at),
  ADD KEY request_logs_config (organisation_id, config_id, ended_at),
  ADD KEY request_logs_mcp_server (organisation_id, mcp_server, ended_at),
  ADD KEY request_logs_mcp_name (organisation_id, mcp_name, ended_at);
