ALTER TABLE point RENAME COLUMN key TO number_key;
ALTER TABLE point ADD COLUMN setting {text} NOT NULL DEFAULT '';
CREATE INDEX run_by_uuid ON run (uuid);
INSERT INTO outdated VALUES (7);
