-- Gives the service accounts of older builds a profile, so that requests list and change them.
-- IGNORE leaves the profiles that exist.
INSERT IGNORE INTO service_account_profiles (
  organisation_id, id, name, status, creation_mode, created_by, created_at, last_updated_at
)
SELECT
  o.id, a.id, a.name, IF(a.disabled_at IS NULL, 'active', 'disabled'), 'auto', 'bootstrap',
  a.created_at, a.created_at
FROM service_accounts a
JOIN organisations o ON o.tsg_id = a.tsg_id
WHERE o.deleted_at IS NULL;
