-- Hosts to which the value of a secret reference may be sent beside the services' own addresses. Null in rows that
-- older builds have written: the addresses that use them keep working, and no other address may be added.
ALTER TABLE secret_references ADD COLUMN allowed_hosts LONGTEXT NULL;
