//! Result files with a value that no run writes: every reader takes them without a panic.

use serde_json::{Value, json};

use crate::figures::figures;
use crate::format::{FORMATS, MODELS};
use crate::glance::glance;
use crate::models::models;
use crate::odd;
use crate::plot::{self, Letters};
use crate::questions::replies;
use crate::read::{first_problems, parse_records};
use crate::record::{Point, Record};
use crate::report::{Options, report};
use crate::runs::split;
use crate::verdict::verdict;
use crate::{fixture, health};

/// Mutated files of one test.
const N_FILES: u64 = 800;

/// Numbers in a fixed order that looks like none (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Lines of a run of several kernels, and of one that meets all pairs.
fn lines() -> Vec<Value> {
    let mut records = fixture::records();
    let end = records.pop().unwrap();
    let pairs = health::fixture::pairs(4, |a, b| 100 * (a + b)).points;
    let more = [pairs, fixture::collectives("allreduce", 4), fixture::halves(4)].concat();
    let more = more.into_iter().map(|point| Record::Point(Box::new(point)));
    let all = records.into_iter().chain(more).chain([end]);
    all.map(|record| serde_json::to_value(record).unwrap()).collect()
}

/// Number of values within `value`, itself among them.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(size).sum::<usize>(),
        Value::Object(all) => all.values().map(size).sum(),
        _ => 0,
    }
}

/// Changes the value number `at` within `value`, in the order of [`size`].
fn mutate(value: &mut Value, at: usize, numbers: &mut Numbers) {
    if at == 0 {
        return change(value, numbers);
    }
    let mut rest = at - 1;
    let parts: Vec<&mut Value> = match value {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(all) => all.values_mut().collect(),
        _ => Vec::new(),
    };
    for part in parts {
        match size(part) {
            n if rest < n => return mutate(part, rest, numbers),
            n => rest -= n,
        }
    }
}

fn change(value: &mut Value, numbers: &mut Numbers) {
    let others = [0, 1, 3, 5, 1 << 32, 1 << 63, u64::MAX];
    match value {
        Value::Array(all) if numbers.below(2) == 0 => drop(all.pop()),
        Value::Array(all) => all.extend(all.first().cloned()),
        Value::Number(_) if numbers.below(4) == 0 => {
            *value =
                [json!(-1), json!(1e308), json!(-0.5), json!(5e-324)][numbers.below(4)].clone();
        }
        Value::Number(_) => *value = json!(others[numbers.below(others.len())]),
        Value::String(text) => *text = ["", "0", "\u{e9}", "suite/kernel"][numbers.below(4)].into(),
        other => *other = Value::Null,
    }
}

/// Reads `text` by everything that reads a result file.
fn read(text: &[u8]) {
    first_problems(text, 5);
    let Ok(of_file) = parse_records(text) else { return };
    for format in FORMATS.iter().chain([&MODELS]) {
        format.write(&of_file.records, &mut Vec::new()).unwrap();
    }
    let runs = split(of_file.records);
    for run in &runs {
        glance(run.run.as_deref(), &run.points);
        odd::of_run(run);
        verdict(run);
        health::Health::of(run, 1.5);
    }
    let points: Vec<&Point> = runs.iter().flat_map(|run| &run.points).collect();
    models(&points, &[]);
    replies(&runs);
    for figure in figures(&runs) {
        plot::terminal(&figure, 79, 16, Letters::Ascii);
    }
    report(&runs, &Options::default());
}

#[test]
fn mutated_files_are_read_without_a_panic() {
    let lines = lines();
    for seed in 1..=N_FILES {
        let (mut numbers, mut lines) = (Numbers(seed), lines.clone());
        for _ in 0..1 + numbers.below(3) {
            let line = numbers.below(lines.len());
            let at = numbers.below(size(&lines[line]));
            mutate(&mut lines[line], at, &mut numbers);
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let outcome = std::panic::catch_unwind(|| read(text.as_bytes()));
        assert!(outcome.is_ok(), "a reader of file {seed} panics");
    }
}
