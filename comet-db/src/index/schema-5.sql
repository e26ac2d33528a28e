ALTER TABLE run ADD COLUMN subject {int} NOT NULL DEFAULT 0;
CREATE INDEX run_by_subject ON run (subject, started_ms, id);
