//! Under a launcher that started the program several times (mpirun, srun): it speaks once, ends
//! everywhere with the same code, and does not measure as if it were alone.
//!
//! The launchers are made up: they are variables in the environment of one process at a time. What
//! needs their ranks is tested where there are such ranks.

use std::thread;

use serde_json::Value;

use crate::support::{Folder, Output, Running};

/// Environment of process `rank` of `size` under Open MPI's mpirun.
fn mpirun(rank: usize, size: usize) -> Vec<(&'static str, String)> {
    vec![("OMPI_COMM_WORLD_RANK", rank.to_string()), ("OMPI_COMM_WORLD_SIZE", size.to_string())]
}

fn start_with(folder: &Folder, line: &str, variables: &[(&str, String)]) -> Running {
    let mut command = folder.command(line);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Running::new(command)
}

/// Runs `line` as each of four processes of mpirun: all end with `code`, all but the first are
/// silent, and there is no file. Returns what the first one says.
#[track_caller]
fn run_once(line: &str, code: i32) -> Output {
    let folder = Folder::new();
    let [first, others @ ..] = [0, 1, 2, 3].map(|rank| start_with(&folder, line, &mpirun(rank, 4)));
    for output in others.map(Running::wait) {
        let output = output.code(code);
        assert_eq!((&*output.stdout, &*output.stderr), ("", ""), "{line}");
    }
    let output = first.wait().code(code);
    assert!(folder.names().is_empty(), "{line} left {:?}", folder.names());
    output
}

/// Runs lines as [`run_once`] does, all at once: most of the time of each is a wait for its first
/// process to speak. Each comes with its code and with what the first process notes.
fn run_each_once(rows: &[(&str, i32, &[&str])]) {
    thread::scope(|scope| {
        for (line, code, notes) in rows {
            let check = || notes.iter().fold(run_once(line, *code), |said, note| said.notes(note));
            scope.spawn(check);
        }
    });
}

/// True if this build can join the ranks of a launcher.
fn has_mpi() -> bool {
    let help = Folder::new().run("run -h").success().stdout;
    // A list of values may go over two lines.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, option) = help.split_once("--transport <NAME>").expect("help names the option");
    let (_, transports) = option.split_once("[possible values: auto, ").expect("it has values");
    transports.split(']').next().expect("a list has an end").contains("mpi")
}

#[test]
fn what_needs_no_ranks_is_printed_once_and_as_without_a_launcher() {
    for line in ["--help", "help plan", "--version", "list", "list --json", "schema", "man"] {
        let alone = Folder::new().run(line).success();
        assert_eq!(run_once(line, 0).stdout, alone.stdout, "{line}");
    }
    run_once("completions bash", 0).prints("watchdog");
}

#[test]
fn what_is_wrong_is_said_once_and_ends_every_process_with_the_same_code() {
    run_each_once(&[
        ("", 2, &["Usage:"]),
        ("echo --frobnicate", 2, &["unexpected argument '--frobnicate'"]),
        ("plan ecko", 2, &["did you mean echo?"]),
        ("show none.jsonl", 2, &["none.jsonl"]),
        ("plan zz*", 6, &["no kernel matches 'zz*'"]),
    ]);
}

#[test]
fn a_plan_is_printed_once_and_joins_nothing() {
    let output = run_once("plan echo", 0).prints("comet/echo");
    if has_mpi() {
        output.prints("transport mpi: ").prints("4 ranks on a mesh of 2x2");
    } else {
        output.prints("transport shm: ").notes("note: 4 processes were started by ");
    }
}

#[test]
fn a_program_that_would_measure_once_for_each_process_is_refused_once() {
    let started = "error: 4 processes were started by Open MPI's mpirun, but ";
    let remedy = "start it without Open MPI's mpirun)\n";
    let notes = [started, remedy, "cargo build --release --features mpi"];
    let with_mpi = |line| (line, 5, &notes[..2]);
    run_each_once(&["all -t shm", "check -t shm"].map(with_mpi));
    if !has_mpi() {
        let without = |line| (line, 5, &notes[..]);
        run_each_once(&["all", "run barrier --out r.jsonl", "check"].map(without));
    }
}

#[test]
fn ranks_of_a_launcher_are_not_for_the_command_line_to_choose() {
    let rows = [
        ("barrier -t mpi -n 2", "-n asks for 2 ranks, Open MPI's mpirun started 4 ("),
        ("barrier -t mpi -n 2,4", "-n asks for 2,4 ranks, Open MPI's mpirun started 4 ("),
        ("barrier -t mpi --bind core", "--bind is for ranks that comet-run starts ("),
        ("barrier -t mpi --mesh 2x3", "a mesh of 2x3 holds 6 ranks, Open MPI's mpirun started 4"),
    ];
    // Without MPI there are no such ranks, and the launcher is the wrong one for this build.
    let code = if has_mpi() { 2 } else { 5 };
    let rows =
        rows.map(|(line, note)| (line, [if has_mpi() { note } else { "built without mpi" }]));
    run_each_once(&rows.each_ref().map(|(line, notes)| (*line, code, &notes[..])));
}

#[test]
fn a_transport_that_this_build_lacks_comes_with_the_command_that_builds_it() {
    let folder = Folder::new();
    let line = "barrier -t mpi -n 2";
    if has_mpi() {
        folder.run(line).code(2).notes("-n asks for 2 ranks, without a launcher there is 1 (");
    } else {
        let sentence = "error: this comet-run was built without mpi \
                        (build it with: cargo build --release --features mpi)\n";
        assert_eq!(folder.run(line).code(5).stderr, sentence);
    }
}

#[test]
fn a_launcher_of_a_single_process_is_no_obstacle() {
    let folder = Folder::new();
    let line = "barrier -t shm -n 2 --samples 1 --out r.jsonl";
    start_with(&folder, line, &mpirun(0, 1)).wait().success().prints("comet/barrier");
    let records = folder.records("r.jsonl");
    // It started this program, and this program the ranks.
    assert_eq!(records.run()["launcher"]["name"], Value::Null);
    assert_eq!(records.run()["config"]["bind"], "core");
}

#[test]
fn the_script_of_a_batch_job_is_no_launcher() {
    let folder = Folder::new();
    let variables = [("SLURM_JOB_ID", "7".to_owned()), ("SLURM_PROCID", "0".to_owned())];
    start_with(&folder, "barrier -n 2 --samples 1 --out none", &variables).wait().success();
}

#[test]
fn help_has_no_colours_and_no_terminal_width_under_a_launcher() {
    let folder = Folder::new();
    let mut variables = vec![("CLICOLOR_FORCE", "1".to_owned()), ("COLUMNS", "40".to_owned())];
    let output = start_with(&folder, "--help", &variables).wait().success();
    assert!(output.stdout.contains('\x1b'), "the variables have an effect: {output:?}");
    variables.extend(mpirun(0, 4));
    let output = start_with(&folder, "--help", &variables).wait().success();
    assert_eq!(output.stdout, folder.run("--help").success().stdout);
}
