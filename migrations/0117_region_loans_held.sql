-- Finds the loans of which a region holds units, among many of rate limits that it does not.
ALTER TABLE region_loans ADD KEY region_loans_held (organisation_id, units);
