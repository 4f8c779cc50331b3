-- When an organisation was last changed, by the clock of the database: gateways read the changes since their last poll.
-- ON UPDATE also stamps the changes of older builds. Session time is UTC.
ALTER TABLE snapshot_marks ADD COLUMN changed_at DATETIME(3) NOT NULL
  DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3);
ALTER TABLE snapshot_marks ADD KEY snapshot_marks_changed (changed_at, organisation_id);
