-- Tags of a provider itself; a provider without any shows those of its integration.
ALTER TABLE providers ADD COLUMN tags LONGTEXT NULL;
