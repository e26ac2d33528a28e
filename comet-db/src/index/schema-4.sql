CREATE TABLE origin (
    id {text} PRIMARY KEY
) {clustered};
