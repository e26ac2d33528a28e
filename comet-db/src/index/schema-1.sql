CREATE TABLE machine (
    id {int} PRIMARY KEY,
    name {text} NOT NULL,
    cpu {text},
    site {text}
) {clustered};

CREATE TABLE run (
    id {int} PRIMARY KEY,
    blob {text} NOT NULL,
    place {int} NOT NULL,
    uuid {text} NOT NULL,
    started_ms {int} NOT NULL,
    machine_id {int} NOT NULL REFERENCES machine (id),
    title {text} NOT NULL,
    program {text} NOT NULL,
    backend {text},
    mpi {text},
    network {text},
    ranks {int} NOT NULL,
    nodes {int},
    fingerprint {text} NOT NULL,
    ending {text},
    verdict {text},
    n_ok {int} NOT NULL,
    n_skipped {int} NOT NULL,
    n_failed {int} NOT NULL,
    n_check_failed {int} NOT NULL,
    received_ms {int} NOT NULL,
    submitter {text} NOT NULL,
    state {text} NOT NULL
) {clustered};
CREATE UNIQUE INDEX run_by_blob ON run (blob, place);
CREATE INDEX run_by_time ON run (started_ms, id);
CREATE INDEX run_by_machine ON run (machine_id, started_ms, id);

CREATE TABLE label (
    run_id {int} NOT NULL REFERENCES run (id),
    name {text} NOT NULL,
    value {text} NOT NULL,
    PRIMARY KEY (run_id, name)
) {clustered};
CREATE INDEX label_by_name ON label (name, value, run_id);

CREATE TABLE series (
    id {int} PRIMARY KEY,
    suite {text} NOT NULL,
    kernel {text} NOT NULL,
    variant {text},
    class {text} NOT NULL,
    quantity {text},
    definition {text},
    rank_stat {text},
    quote {text},
    params {text} NOT NULL,
    x {text},
    x_unit {text}
) {clustered};
CREATE INDEX series_by_kernel ON series (kernel, suite);

CREATE TABLE point (
    run_id {int} NOT NULL REFERENCES run (id),
    place {int} NOT NULL,
    series_id {int} NOT NULL REFERENCES series (id),
    x {int},
    procs {int},
    key {text} NOT NULL,
    status {text} NOT NULL,
    n {int},
    quoted_ns {real},
    low_ns {real},
    high_ns {real},
    min_ns {real},
    p25_ns {real},
    median_ns {real},
    p75_ns {real},
    p90_ns {real},
    p99_ns {real},
    max_ns {real},
    mean_ns {real},
    stddev_ns {real},
    bytes_per_s {real},
    launches_ns {text},
    PRIMARY KEY (run_id, place)
) {clustered};
CREATE INDEX point_by_series ON point (series_id, x, procs, run_id);
