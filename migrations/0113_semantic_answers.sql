-- Responses of models that answer further questions with the same meaning.
CREATE TABLE IF NOT EXISTS semantic_answers (
  organisation_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scope BINARY(32) NOT NULL,
  question_hash BINARY(32) NOT NULL,
  workspace_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  embedding MEDIUMBLOB NOT NULL,
  status SMALLINT NOT NULL,
  content_type VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  body MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (organisation_id, scope, question_hash),
  KEY semantic_answers_workspace (organisation_id, workspace_id, created_at),
  KEY semantic_answers_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
