-- Why a strategy of the config selected the target of a request.
ALTER TABLE request_logs ADD COLUMN target_selection VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL;
