-- How much of a slice a process had used in all, so that its journal can tell how much of a lost slice was not used.
ALTER TABLE usage_slices ADD COLUMN total_units BIGINT NULL;
