-- JSON: verdict by id of the guardrail that judged the request; null without guardrails, and in rows of older builds.
ALTER TABLE request_logs ADD COLUMN guardrails LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
