ALTER TABLE run RENAME COLUMN subject TO subject_id;
CREATE TABLE outdated (
    step {int} PRIMARY KEY
) {clustered};
INSERT INTO outdated VALUES (6);
