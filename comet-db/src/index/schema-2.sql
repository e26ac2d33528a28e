CREATE TABLE token (
    id {int} PRIMARY KEY,
    name {text} NOT NULL UNIQUE,
    sha256 {text} NOT NULL UNIQUE,
    scopes {text} NOT NULL,
    machine {text} NOT NULL,
    created_ms {int} NOT NULL,
    expires_ms {int},
    revoked_ms {int}
) {clustered};

CREATE TABLE audit (
    id {int} PRIMARY KEY,
    at_ms {int} NOT NULL,
    who {text} NOT NULL,
    action {text} NOT NULL,
    subject {text} NOT NULL
) {clustered};
CREATE INDEX audit_by_time ON audit (at_ms, id);
