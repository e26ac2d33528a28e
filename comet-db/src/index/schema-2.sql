CREATE TABLE token (
    id {int} PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    machine TEXT NOT NULL,
    created_ms {int} NOT NULL,
    expires_ms {int},
    revoked_ms {int}
) {clustered};

CREATE TABLE audit (
    id {int} PRIMARY KEY,
    at_ms {int} NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL
) {clustered};
CREATE INDEX audit_by_time ON audit (at_ms, id);
