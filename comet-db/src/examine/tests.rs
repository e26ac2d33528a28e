//! Tests of what is read of a stranger's file.

use super::*;
use crate::card::State;
use crate::fixture::{Example, file};
use comet_core::kernel::AxisKind;
use comet_report::record::{End, EndStatus, Failure, Launches, Outcome, PointStatus, Record};

const CARD: Card = Card { received_ms: 1, submitter: String::new(), state: State::Pending };

fn rows_in(bytes: &[u8]) -> Result<Vec<RunRows>, Error> {
    rows(BlobId::of(bytes), bytes, &CARD)
}

fn refusal(bytes: &[u8]) -> String {
    rows_in(bytes).unwrap_err().to_string()
}

/// The rows of an example whose run was changed.
fn changed(change: impl FnOnce(&mut Run)) -> Result<Vec<RunRows>, Error> {
    let mut records = Example::default().records();
    let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
    change(run);
    rows_in(&file(&records))
}

#[test]
fn a_run_makes_rows_of_what_its_file_holds() {
    let all = rows_in(&Example::default().file()).unwrap();
    let [RunRows { run, machine, labels, series, points }] = &all[..] else { panic!("{all:?}") };
    assert_eq!((run.title.as_str(), run.ranks, run.nodes), ("comet/echo", 2, Some(2)));
    assert_eq!(run.mpi.as_deref(), Some("Open MPI v5.0.8"));
    assert_eq!((run.n_ok, run.ending.as_deref()), (3, Some("complete")));
    assert_eq!((machine.name.as_str(), machine.cpu.clone()), ("hawk", None));
    assert_eq!(labels.len(), 1);
    let [curve] = &series[..] else { panic!("{series:?}") };
    assert_eq!((curve.params.as_str(), curve.x.as_deref()), ("hops=1", Some("length_bytes")));
    let lengths: Vec<_> = points.iter().map(|point| (point.x, point.procs, point.series)).collect();
    assert_eq!(lengths, [1, 2, 4].map(|x| (Some(x), Some(2), curve.id)));
    assert_eq!(points[2].quoted_ns, Some(100.0 + 4.0 / 3.0));
    assert_eq!(points[2].low_ns, None, "what is missing is not 0");
    assert_eq!(points[2].launches(), [100.0 + 4.0 / 3.0]);
}

#[test]
fn equal_curves_of_two_runs_are_one() {
    let one = rows_in(&Example::default().file()).unwrap();
    let two = rows_in(&Example { number: 1, n_points: 9, ..Example::default() }.file()).unwrap();
    assert_eq!(one[0].series, two[0].series);
    assert_eq!(one[0].machine, two[0].machine);
    assert_ne!(one[0].run.id, two[0].run.id);
}

#[test]
fn a_run_supersedes_those_whose_numbers_it_measured_again() {
    let subject = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut records = Example::default().records();
        change(&mut records);
        rows_in(&file(&records)).unwrap()[0].run.subject
    };
    let of_run = |change: &dyn Fn(&mut Run)| {
        subject(&|records| {
            let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
            change(run);
        })
    };
    let one = subject(&|_| ());
    assert_eq!(one, of_run(&|run| run.started_at = "2026-01-02T00:00:00.000Z".into()));
    assert_ne!(one, of_run(&|run| run.started_at = String::new()), "its start is unknown");
    assert_ne!(one, of_run(&|run| run.world.nodes = Some(1)));
    assert_ne!(one, of_run(&|run| run.world.size = 4));
    let ending = |change: &dyn Fn(&mut End)| {
        subject(&|records| {
            let Some(Record::End(end)) = records.last_mut() else { panic!("an end") };
            change(end);
        })
    };
    assert_ne!(one, ending(&|end| end.status = EndStatus::Partial), "it was cut off");
    let fewer = |records: &mut Vec<Record>| {
        records.remove(3);
        let Some(Record::End(end)) = records.last_mut() else { panic!("an end") };
        end.points.ok = 2;
    };
    assert_ne!(one, subject(&fewer), "a sweep has lengths that one length has not");
    let on_mesh = |records: &mut Vec<Record>| {
        for record in records {
            let Record::Point(point) = record else { continue };
            let sides = MESH.map(|name| (name.to_owned(), comet_report::record::Param::Number(2)));
            point.params.0.extend(sides);
        }
    };
    assert_ne!(one, subject(&on_mesh), "another mesh has other numbers");
}

#[test]
fn a_level_of_threads_that_is_not_the_usual_one_makes_another_number() {
    let setting = |level: &str| {
        let rows = changed(|run| {
            let facts = [("library", "Open MPI v5.0.8".into()), ("thread_level", level.into())];
            run.transport = comet_report::record::Transport::stated("mpi", facts);
        });
        rows.unwrap()[0].points[0].setting.clone()
    };
    assert_eq!([setting("single"), setting("multiple")], ["", "threads multiple"]);
}

#[test]
fn an_empty_text_is_none() {
    let mut records = Example::default().records();
    let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
    let mut machine = comet_report::record::Machine::default();
    machine.cpu.model = Some(String::new());
    run.machines = vec![machine];
    let Record::Point(point) = &mut records[1] else { panic!("a point") };
    point.variant = Some(String::new().into());
    let Record::Point(point) = &mut records[2] else { panic!("a point") };
    point.variant = None;
    let rows = &rows_in(&file(&records)).unwrap()[0];
    assert_eq!(rows.machine, rows_in(&Example::default().file()).unwrap()[0].machine);
    assert_eq!(rows.series.len(), 2, "{:?}", rows.series);
    assert_eq!(rows.series[0].variant, None);
}

#[test]
fn points_without_numbers_and_launches_are_kept() {
    let mut records = Example::default().records();
    let Record::Point(point) = &mut records[1] else { panic!("a point") };
    let numbers = [0.1, 1e21, 3.0];
    point.launches = Some(Launches {
        quoted_ns: numbers.to_vec(),
        slices: vec![1; 3],
        period_s: 1.0,
        ..Launches::default()
    });
    let Record::Point(point) = &mut records[2] else { panic!("a point") };
    let failure = Failure { status: PointStatus::Skipped, message: "no".into() };
    point.outcome = Outcome::Failed(failure);
    let Record::End(end) = &mut records[4] else { panic!("an end") };
    (end.points.ok, end.points.skipped) = (2, 1);
    let rows = &rows_in(&file(&records)).unwrap()[0];
    assert_eq!(rows.points[0].launches(), numbers);
    let skipped = &rows.points[1];
    assert_eq!((skipped.status.as_str(), skipped.quoted_ns, skipped.n), ("skipped", None, None));
    assert_eq!(rows.series[1].quantity, None);
    assert_eq!((rows.run.n_ok, rows.run.n_skipped), (2, 1));
}

#[test]
fn machines_are_named_by_their_label_or_their_first_host() {
    let name = |change: &dyn Fn(&mut Run)| changed(change).unwrap()[0].machine.name.clone();
    let host = |host: &str| {
        let node =
            comet_report::record::RankEntry { node: Some(host.into()), ..Default::default() };
        name(&|run| {
            run.labels.clear();
            run.world.ranks = vec![node.clone()];
        })
    };
    assert_eq!(host("lumi-0017.cluster.example"), "lumi");
    assert_eq!(host("nid000123"), "nid");
    assert_eq!(host("42"), "42");
    assert_eq!(name(&|run| run.labels.clear()), "unknown");
}

#[test]
fn a_wrong_file_is_refused_with_its_lines() {
    let text = Example::default().file();
    assert_eq!(refusal(b""), "there is no run in the file (see comet-run validate)");
    assert!(refusal(b"# osu\n# text\n").starts_with("line 1: "));
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let wrong = [lines[0], b"{}\n", lines[1], b"[]\n"].concat();
    let Error::Invalid(problems) = rows_in(&wrong).unwrap_err() else { panic!("invalid") };
    assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 4]);
    assert!(refusal(&[lines[1], lines[0]].concat()).starts_with("line 1: there is no run record"));
    // A killed run has no end, and part of a line.
    let killed = &text[..text.len() - 20];
    assert_eq!(rows_in(killed).unwrap()[0].run.ending, None);
}

#[test]
fn a_file_of_wrong_lines_is_read_until_the_last_that_is_reported() {
    let Error::Invalid(problems) = runs(&vec![b'\n'; 1 << 20]).unwrap_err() else {
        panic!("invalid")
    };
    assert_eq!(problems.len(), MAX_PROBLEMS);
    let text = Error::Invalid(problems).to_string();
    assert!(text.contains(", and 19 other problems or more ("), "{text}");
}

#[test]
fn ranks_for_which_a_report_has_no_memory_are_refused() {
    let refusal = |change: &dyn Fn(&mut Run)| changed(change).unwrap_err().to_string();
    let expected = "ranks, rows or columns, expected at most 100000";
    assert!(refusal(&|run| run.world.size = 100_001).contains(expected));
    assert!(refusal(&|run| run.world.mesh.rows = usize::MAX).contains(expected));
    let of_points =
        |n_ranks: u64, kind: AxisKind| {
            let mut records = Example::default().records();
            let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
            let mut axis = run.kernels[0].axes[0].clone();
            axis.name = "round".into();
            axis.kind = kind;
            run.kernels[0].axes.push(axis);
            for record in &mut records {
                if let Record::Point(point) = record {
                    point.params.0.iter_mut().filter(|(name, _)| name == RANKS).for_each(
                        |(_, value)| *value = comet_report::record::Param::Number(n_ranks),
                    );
                }
            }
            rows_in(&file(&records)).map_err(|error| error.to_string())
        };
    assert!(of_points(100_001, AxisKind::Count).unwrap_err().contains(expected));
    assert!(of_points(100_000, AxisKind::Count).is_ok());
    let expected = "10001 ranks in rounds, expected at most 10000";
    assert!(of_points(10_001, AxisKind::Round).unwrap_err().contains(expected));
    assert!(
        of_points(3000, AxisKind::Round).unwrap_err().contains("27000000 pairs of ranks in rounds")
    );
    assert!(of_points(1000, AxisKind::Round).is_ok());
}

#[test]
fn names_and_numbers_beyond_the_limits_are_refused() {
    let refusal = |change: &dyn Fn(&mut Run)| changed(change).unwrap_err().to_string();
    let many = |run: &mut Run| run.labels.extend((0..100).map(|n| (n.to_string(), String::new())));
    assert!(refusal(&many).contains(" has 101 labels, expected at most 64"));
    let long = |run: &mut Run| drop(run.labels.insert("a".into(), "é".repeat(501)));
    assert!(refusal(&long).contains("… has 1002 bytes, expected at most 1000"));
    let undated = |run: &mut Run| run.started_at = "yesterday".into();
    let wide = |run: &mut Run| run.transport.backend = Some("x".repeat(1001));
    assert!(refusal(&wide).contains("the text xxx"));
    let cpu = |run: &mut Run| {
        let mut machine = comet_report::record::Machine::default();
        machine.cpu.model = Some("y".repeat(1001));
        run.machines = vec![machine];
    };
    assert!(refusal(&cpu).contains("the text yyy"));
    let unit = |run: &mut Run| run.kernels[0].axes[0].unit = "z".repeat(1001);
    assert!(refusal(&unit).contains("the text zzz"));
    assert!(refusal(&undated).contains("started at yesterday, expected an RFC 3339 time"));
}
