-- The smallest request that a budget has refused, and the limit at that time, so that the state of the budget is what callers experience.
ALTER TABLE usage_counters ADD COLUMN refused_units BIGINT NULL;
ALTER TABLE usage_counters ADD COLUMN refused_limit_units BIGINT NULL;
