-- Verdict and duration of each check, and requests that failed only guardrails in mode monitor.
ALTER TABLE request_logs ADD COLUMN guardrail_checks LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL;
ALTER TABLE request_logs ADD COLUMN guardrail_check_ms TEXT CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE request_totals ADD COLUMN guardrail_monitored BIGINT NOT NULL DEFAULT 0;
