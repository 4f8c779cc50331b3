-- Defaults of organisations: the guardrails of all their workspaces.
CREATE TABLE IF NOT EXISTS organisation_defaults (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  input_guardrails TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  output_guardrails TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  denied_export_fields TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  input_exclusions_version INT UNSIGNED NOT NULL DEFAULT 1,
  output_exclusions_version INT UNSIGNED NOT NULL DEFAULT 1,
  version INT UNSIGNED NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  last_updated_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
