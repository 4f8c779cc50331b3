-- Source and version of the price of each logged request; null for requests without a price.
ALTER TABLE request_logs ADD COLUMN price_source VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE request_logs ADD COLUMN price_version VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
