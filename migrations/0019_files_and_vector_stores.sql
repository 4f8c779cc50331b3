-- Files that the gateway keeps for callers.
CREATE TABLE IF NOT EXISTS files (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  purpose VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bytes BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY files_list (organisation_id, workspace_id, created_at, id),
  KEY files_expiry (expires_at),
  CONSTRAINT files_bytes CHECK (bytes >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Bytes that are kept in the database, in a folder or in a bucket, from before they are written until after they are deleted.
CREATE TABLE IF NOT EXISTS blobs (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  place VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bytes BIGINT NOT NULL,
  sha256 BINARY(32) NULL,
  due_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY blobs_due (due_at),
  CONSTRAINT blobs_bytes CHECK (bytes >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Those in the database, cut so that no statement grows with them.
CREATE TABLE IF NOT EXISTS blob_parts (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  blob_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number INT NOT NULL,
  content MEDIUMBLOB NOT NULL,
  PRIMARY KEY (organisation_id, blob_id, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Stores of texts that are found by what they mean.
CREATE TABLE IF NOT EXISTS vector_stores (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  api_key_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  description VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  metadata TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  embedding_model VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  dimensions INT NULL,
  contents BIGINT NOT NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  expires_after_days INT NULL,
  created_at BIGINT NOT NULL,
  last_active_at BIGINT NOT NULL,
  expires_at BIGINT NULL,
  PRIMARY KEY (organisation_id, id),
  KEY vector_stores_list (organisation_id, workspace_id, created_at, id),
  KEY vector_stores_due (status, expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Files that are in them, or on their way.
CREATE TABLE IF NOT EXISTS vector_store_files (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  vector_store_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  batch_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  error_code VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  error_message VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  attributes TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  chunk_tokens INT NOT NULL,
  overlap_tokens INT NOT NULL,
  usage_bytes BIGINT NOT NULL,
  chunks INT NOT NULL,
  lease BINARY(16) NULL,
  leased_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, vector_store_id, id),
  KEY vector_store_files_list (organisation_id, vector_store_id, created_at, id),
  KEY vector_store_files_batch (organisation_id, vector_store_id, batch_id),
  KEY vector_store_files_file (organisation_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Pieces of their text with what each means: 32-bit numbers, lowest byte first, of length 1 together.
CREATE TABLE IF NOT EXISTS vector_chunks (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  vector_store_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  file_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number INT NOT NULL,
  content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  embedding MEDIUMBLOB NOT NULL,
  PRIMARY KEY (organisation_id, vector_store_id, file_id, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- MySQL has a type for them from 9.0 on, which takes those of any length; MariaDB's takes those of one length.
ALTER TABLE vector_chunks COMMENT = '' /*!90000 , MODIFY embedding VECTOR(16383) NOT NULL */;
