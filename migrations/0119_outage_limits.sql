-- How long each slice is held, which holders keep a journal on disk, and what budgets allow while the database is unavailable.
ALTER TABLE usage_slices ADD COLUMN lease_until BIGINT NULL;
ALTER TABLE usage_slices ADD COLUMN charged_at BIGINT NULL;
ALTER TABLE usage_holders ADD COLUMN is_journalled TINYINT NOT NULL DEFAULT 0;
ALTER TABLE usage_holders ADD COLUMN settled_at BIGINT NULL;
ALTER TABLE usage_holders ADD COLUMN answer MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
ALTER TABLE usage_budgets ADD COLUMN outage_units BIGINT NULL;
ALTER TABLE usage_limit_policies ADD COLUMN outage_units BIGINT NULL;
