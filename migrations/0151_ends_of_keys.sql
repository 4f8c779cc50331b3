-- Keys of an organisation that expire within a time, for what needs attention.
ALTER TABLE api_keys ADD KEY api_keys_ends (organisation_id, expires_at);
