CREATE TABLE mark (
    id {int} PRIMARY KEY,
    machine {text} NOT NULL,
    at_ms {int} NOT NULL,
    note {text} NOT NULL,
    who {text} NOT NULL
) {clustered};
CREATE INDEX mark_by_time ON mark (at_ms, id);
