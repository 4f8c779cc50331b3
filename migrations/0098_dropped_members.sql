-- Members of a translated request that the format of its provider lacks.
ALTER TABLE request_logs ADD COLUMN dropped_members TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
