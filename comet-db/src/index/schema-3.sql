CREATE TABLE mark (
    id {int} PRIMARY KEY,
    machine TEXT NOT NULL,
    at_ms {int} NOT NULL,
    note TEXT NOT NULL,
    who TEXT NOT NULL
) {clustered};
CREATE INDEX mark_by_time ON mark (at_ms, id);
