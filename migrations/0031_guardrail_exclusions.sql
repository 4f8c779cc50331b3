-- Workspaces that go without the guardrails of their organisation.
CREATE TABLE IF NOT EXISTS guardrail_exclusions (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  input_guardrails TINYINT UNSIGNED NOT NULL,
  output_guardrails TINYINT UNSIGNED NOT NULL,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, id),
  UNIQUE KEY guardrail_exclusions_workspace (organisation_id, workspace_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
