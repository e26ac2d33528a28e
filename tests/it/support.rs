//! A fresh folder for each test, the program run in it under a time limit, the processes of a job as
//! they are seen and signalled from outside, and result files: their lines as plain JSON, so that the
//! names on disk are tested too.
//!
//! A test looks only at processes that it has started: a number alone may soon be that of another.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::statvfs::{Statvfs, statvfs};
use serde_json::Value;

/// Time limit of a program and of a wait for an event. Only a program that hangs takes as
/// long: tests run beside builds, on machines that are slow already.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// Starts of the variables from which the program learns that a launcher started it.
const LAUNCHERS: [&str; 9] =
    ["OMPI_", "PMI_", "HYDI_", "MV2_", "PALS_", "FLUX_", "JSM_", "SLURM_", "PMIX_"];
/// Time from one look to the next.
const STEP: Duration = Duration::from_millis(5);

/// A requirement by its numbers, a command line and more options of it, and texts of the output or of the result
/// file `r.jsonl` that show that it is met.
pub(crate) type Requirement =
    (&'static [&'static str], &'static str, &'static str, &'static [&'static str]);

/// Runs the command line of each of `rows` beside `files` and the machine `flat.toml`, and looks for its texts.
#[track_caller]
pub(crate) fn require_met(rows: &[Requirement], files: &[(&str, &str)]) {
    for (numbers, line, options, texts) in rows {
        let folder = Folder::new();
        for (name, text) in [("flat.toml", FLAT)].iter().chain(files) {
            folder.write(name, text);
        }
        let line = format!("{line} {options}");
        let mut found = folder.run(line.trim_end()).success().stdout;
        if line.contains("--out r.jsonl") {
            found += &folder.read("r.jsonl");
        }
        for text in *texts {
            assert!(found.contains(text), "{numbers:?}: {text} in {found}");
        }
    }
}

/// A folder of one test, removed with everything in it when the test ends.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    /// A new folder in memory if there is a GiB free, because a busy disk delays each sync of a file.
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let is_large = |of: Statvfs| of.blocks_available() * of.fragment_size() >= 1 << 30;
        if statvfs(memory).is_ok_and(is_large) { Self::below(memory) } else { Self::on_disk() }
    }

    /// A new folder where temporary files lie.
    pub(crate) fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Self {
        static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("comet-test-{}-{number}", std::process::id());
        let path = parent.join(name);
        fs::create_dir(&path).expect("a new folder can be made");
        Self { path }
    }

    /// Writes a file into it; returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::write(&path, text).expect("a new file can be written");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).expect("the file is there")
    }

    pub(crate) fn records(&self, name: &str) -> Records {
        Records::parse(&self.read(name))
    }

    /// Numbers of the launches in the `launch` lines of a file.
    pub(crate) fn launches(&self, name: &str) -> Vec<u64> {
        let records = self.records(name);
        records.of_type("launch").map(|line| line["launch"].as_u64().expect("a number")).collect()
    }

    /// Asserts that a file has three launches of all its points, and more, at most six, where fewer
    /// than three of a point count: the cores moved, or a line took another time.
    #[track_caller]
    pub(crate) fn assert_three_launches(&self, name: &str) {
        let records = self.records(name);
        let numbers = self.launches(name);
        let n_launches = *numbers.last().expect("a launch");
        assert!(numbers.is_sorted() && (3..=6).contains(&n_launches), "{numbers:?}");
        for point in records.points() {
            let of_point: Vec<u64> = records
                .of_type("launch")
                .filter(|line| line["key"] == point["key"])
                .map(|line| line["launch"].as_u64().expect("a number"))
                .collect();
            assert!(of_point.starts_with(&[1, 2, 3]), "{of_point:?} of {point}");
            let n_counted = point["launches"]["quoted_ns"].as_array().map_or(0, Vec::len);
            assert!(n_counted >= 3 || n_launches == 6, "{n_counted} of {point}");
            let has_moved = |line: &&Value| {
                line["key"] == point["key"] && line["quality"]["cores_moved"] == true
            };
            let n_moved = records.of_type("launch").filter(has_moved).count();
            let n_elsewhere = point["launches"]["speeds"].as_array().map_or(0, Vec::len);
            let are_all = n_counted == of_point.len();
            assert!(are_all || n_moved + n_elsewhere > 0, "{n_counted} of {point}");
        }
    }

    /// Waits until a file has a point of a launch.
    #[track_caller]
    pub(crate) fn await_launch(&self, name: &str) {
        let path = self.path.join(name);
        let has_point = |text: String| text.contains("\n{\"type\":\"launch\"");
        eventually("the first launch", || fs::read_to_string(&path).is_ok_and(has_point));
    }

    /// Asserts that `output`, which IMB's layout of `r.jsonl` ends, is what the layout shows of the file, and that
    /// the tables come back from an import by the reader called `reader`.
    #[track_caller]
    pub(crate) fn assert_imb_comes_back(&self, output: &Output, reader: &str) {
        let shown = self.run("show r.jsonl --format imb").success();
        assert!(output.stdout.ends_with(&shown.stdout), "{}", shown.stdout);
        self.write("printed.txt", &output.stdout);
        self.run(&format!("import {reader} printed.txt -o again.jsonl")).success();
        self.run("validate again.jsonl").success();
        let again = self.run("show again.jsonl --format imb").success();
        assert_eq!(again.titles_and_rows(), output.titles_and_rows());
    }

    /// Names of what is in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names = Vec::from_iter(names.map(|name| name.to_string_lossy().into_owned()));
        names.sort();
        names
    }

    /// `comet-run` with the words of `line`, to be run in this folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comet-run"));
        command.args(line.split_whitespace()).current_dir(&self.path).stdin(Stdio::null());
        forget_launcher(&mut command);
        command
    }

    pub(crate) fn start(&self, line: &str) -> Running {
        Running::new(self.command(line))
    }

    /// Runs `comet-run` with the words of `line` to its end.
    pub(crate) fn run(&self, line: &str) -> Output {
        self.start(line).wait()
    }

    /// Runs `comet-run` with each of these rows `LINE => WORDS`: the line is refused with the words,
    /// nothing is printed to standard output, and no file is made.
    #[track_caller]
    pub(crate) fn refuses(&self, rows: &str) {
        let names = self.names();
        for (line, words) in rows_of(rows) {
            let output = self.run(line);
            let is_refused = output.code == Some(2) && output.stdout.is_empty();
            assert!(is_refused && output.stderr.contains(words), "{line}: {output:#?}");
            assert_eq!(self.names(), names, "{line}");
        }
    }

    /// Checks that the page of each kernel of `suite` in the rows `NAME => WORDS` has the words, and that all of its
    /// kernels, of which there are so many, are measured with `options` on either transport, into `TRANSPORT.jsonl`.
    #[track_caller]
    pub(crate) fn check_suite(&self, suite: &str, pages: &str, options: &str, n_kernels: usize) {
        for (name, words) in rows_of(pages) {
            let page = self.run(&format!("help {suite}/{name}")).code(0).stdout;
            let page: Vec<&str> = page.split_whitespace().collect();
            assert!(page.join(" ").contains(words), "{name}: {page:?}");
        }
        for transport in ["shm", "sim"] {
            let options = format!("{options} --samples 3 --launches 1 -q --out {transport}.jsonl");
            let output = self.run(&format!("{suite} -t {transport} {options}")).code(0);
            let records = self.records(&format!("{transport}.jsonl"));
            assert!(records.points().all(|point| point["status"] == "ok"), "{output:#?}");
            let kernels = records.points().map(|point| point["kernel"].to_string());
            let kernels: BTreeSet<String> = kernels.collect();
            assert_eq!(kernels.len(), n_kernels, "{kernels:?}");
        }
    }

    /// Runs `script` in a shell in this folder, with the program as `$0`.
    pub(crate) fn start_shell(&self, script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_comet-run")]).current_dir(&self.path);
        forget_launcher(&mut command);
        Running::new(command)
    }
}

/// Both sides of the rows `LEFT => RIGHT` of a table.
pub(crate) fn rows_of(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| {
        let (left, right) = row.split_once("=>").expect("a row has an arrow");
        (left.trim(), right.trim())
    })
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// A machine file: messages of any length take their sender 3 us, are 5 us and 8 ns for each byte on their way,
/// and take their receiver 2 us.
pub(crate) const FLAT: &str = r#"
format = 1
name = "flat"
topology = { kind = "flat" }
[[protocol]]
kind = "eager"
t0 = "10 us"
per_byte = "8 ns/B"
split = { o_send = "3 us", o_recv = "2 us" }
"#;

/// Lines behind it: transfers of windows take their origin 3 us, and 5 us and 1 ns for each byte on their way.
pub(crate) const RDMA: &str = r#"[rdma]
o = "3 us"
latency = "5 us"
per_byte = "1 ns/B"
"#;

/// A machine file: messages take 2 us and so long for each byte, with `more` of the machine.
pub(crate) fn machine(per_byte_ns: f64, more: &str) -> String {
    format!(
        "format = 1\nname = \"mine\"\ntopology = {{ kind = \"flat\" }}\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"2 us\"\nper_byte = \"{per_byte_ns} ns/B\"\n{more}"
    )
}

/// Starts `command` as if no launcher had started the tests, should one have done so.
pub(crate) fn forget_launcher(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if LAUNCHERS.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
}

/// An option of `env` with which a program obeys signals, also if the tests run in the background of
/// a script, where SIGINT is ignored.
pub(crate) const OBEYS: &str = "--default-signal=HUP,INT,TERM";

/// `command` as `env` starts it with `option`, in a process of the same number.
pub(crate) fn through_env(command: &Command, option: &str) -> Command {
    let mut env = Command::new("env");
    env.arg(option).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    forget_launcher(&mut env);
    if let Some(folder) = command.get_current_dir() {
        env.current_dir(folder);
    }
    env
}

/// A program that was started, with its output being collected; killed if it is dropped before its
/// end, so that a test that fails leaves nothing behind.
pub(crate) struct Running {
    child: Child,
    stdout: Tap,
    stderr: Tap,
}

impl Running {
    /// Starts `command` with both of its outputs captured.
    pub(crate) fn new(mut command: Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let stdout = Tap::new(child.stdout.take().expect("it is piped"));
        let stderr = Tap::new(child.stderr.take().expect("it is piped"));
        Self { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&self) -> String {
        self.stdout.text()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is a child of this process")
    }

    /// Waits for its end and that of all who share its outputs; kills it if it hangs.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Output {
        let mut code = None;
        eventually("the end of the program", || {
            code = self.status().map(|status| status.code());
            code.is_some() && self.stdout.is_closed() && self.stderr.is_closed()
        });
        Output { code: code.flatten(), stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

struct Tap {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Tap {
    fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let arrived = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n_bytes @ 1..) = pipe.read(&mut piece) {
                arrived.lock().expect("no reader panics").extend(&piece[..n_bytes]);
            }
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("no reader panics")).into_owned()
    }

    /// True if nobody can write any more, and all that was written has arrived.
    fn is_closed(&self) -> bool {
        self.reader.is_finished()
    }
}

/// Waits until `condition` holds, which is `what` the test needs; fails after [`TIME_LIMIT`].
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIME_LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come true");
        thread::sleep(STEP);
    }
}

#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.code(0)
    }

    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// This output of `validate`, which found nothing wrong; a run may have ended early.
    #[track_caller]
    pub(crate) fn well_formed(self) -> Self {
        assert!(matches!(self.code, Some(0 | 4)), "{self:#?}");
        self
    }

    /// This output, with `text` somewhere in standard output.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no '{text}' in {self:#?}");
        self
    }

    /// Lines of IMB's layout that begin tables, and the rows of numbers.
    fn titles_and_rows(&self) -> Vec<&str> {
        let is_such = |line: &&str| {
            line.starts_with("# Benchmarking") || line.contains("MODE: ") || line.starts_with("   ")
        };
        self.stdout.lines().filter(is_such).collect()
    }

    /// The lines behind the title of the first table of `name` in IMB's layout, up to an empty one.
    #[track_caller]
    pub(crate) fn imb_table(&self, name: &str) -> Vec<&str> {
        let title = format!("# Benchmarking {name} \n");
        let (_, rest) = self.stdout.split_once(&title).expect("the benchmark has a table");
        rest.lines().take_while(|line| !line.is_empty()).collect()
    }

    /// This output, with `text` somewhere in standard error.
    #[track_caller]
    pub(crate) fn notes(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no '{text}' in {self:#?}");
        self
    }
}

/// One process, with the time of its start, so that no later one is taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    started: u64,
}

impl Process {
    pub(crate) fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started: stat(pid)?.started })
    }

    /// True until somebody has waited for its end.
    pub(crate) fn is_known(self) -> bool {
        Self::find(self.pid) == Some(self)
    }

    /// True until it ends; one that nobody has waited for yet has ended.
    pub(crate) fn is_alive(self) -> bool {
        self.is_known() && is_alive(self.pid)
    }

    pub(crate) fn children(self) -> Vec<Self> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid);
        let pids = fs::read_to_string(path).unwrap_or_default();
        let children = pids.split_whitespace().filter_map(|pid| Self::find(pid.parse().ok()?));
        children.filter(|child| child.is_alive()).collect()
    }

    /// Shared memory that it has mapped by a name, under which it would outlive a job.
    pub(crate) fn named_memory(self) -> Vec<String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        maps.lines().filter(|line| line.contains("/dev/shm/")).map(str::to_owned).collect()
    }

    /// True if it has a handler for the signal `number`.
    pub(crate) fn catches(self, number: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (number - 1) & 1 == 1
    }
}

/// Sends the signal `name` (`KILL`, `INT`) to one process.
pub(crate) fn send(name: &str, pid: u32) {
    kill(name, &pid.to_string());
}

/// Sends the signal `name` to a process that may have ended.
pub(crate) fn try_send(name: &str, pid: u32) {
    try_kill(name, &pid.to_string());
}

/// Sends the signal `name` to all processes of a group that may have ended.
pub(crate) fn try_send_to_group(name: &str, group: u32) {
    try_kill(name, &format!("-{group}"));
}

/// Sends the signal `name` to all processes of a group, as a terminal does.
pub(crate) fn send_to_group(name: &str, group: u32) {
    kill(name, &format!("-{group}"));
}

/// Stops a process while it computes, rather than in a system call.
pub(crate) fn stop_in_computation(pid: u32) {
    eventually("a stop in a computation", || {
        stop(pid);
        let is_computing = !in_system_call(pid);
        if !is_computing {
            send("CONT", pid);
        }
        is_computing
    });
}

/// Stops a process, and waits until it has stopped.
pub(crate) fn stop(pid: u32) {
    send("STOP", pid);
    eventually("a stop", || stat(pid).is_none_or(|stat| "TZX".contains(stat.state)));
}

/// True until the process ends; one that nobody has waited for yet has ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !"ZX".contains(stat.state))
}

struct Stat {
    state: char,
    /// Clock ticks from the start of the system to its own.
    started: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything but ends at the last parenthesis.
    let words: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(Stat { state: words.first()?.chars().next()?, started: words.get(19)?.parse().ok()? })
}

/// True if a stopped process is in a system call; some systems do not say so.
fn in_system_call(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall"));
    call.is_ok_and(|call| !call.starts_with("-1 "))
}

fn kill(name: &str, target: &str) {
    assert!(try_kill(name, target), "cannot send SIG{name} to {target}");
}

/// True if the signal was sent. The shell's own `kill` is there on every system, and needs no code
/// that is unsafe.
fn try_kill(name: &str, target: &str) -> bool {
    let script = "kill -s \"$1\" -- \"$2\"";
    let status = Command::new("sh").args(["-c", script, "sh", name, target]).status();
    status.expect("there is a shell").success()
}

#[derive(Debug)]
pub(crate) struct Records(Vec<Value>);

impl Records {
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(record) => record,
            Err(error) => panic!("{error} in the line '{line}'"),
        };
        Self(text.lines().map(parse).collect())
    }

    /// The first record, which is the run.
    #[track_caller]
    pub(crate) fn run(&self) -> &Value {
        let run = self.0.first().expect("the file is not empty");
        assert_eq!(run["type"], "run", "the first record is {run}");
        run
    }

    /// The last record, which is the end.
    #[track_caller]
    pub(crate) fn end(&self) -> &Value {
        let end = self.0.last().expect("the file is not empty");
        assert_eq!(end["type"], "end", "the last record is {end}");
        end
    }

    pub(crate) fn of_type<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |record| record["type"] == name)
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = &Value> {
        self.of_type("point")
    }

    pub(crate) fn points_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Value> {
        self.points().filter(move |point| kernel_id(point) == id)
    }

    pub(crate) fn kernels(&self) -> BTreeSet<String> {
        self.points().map(kernel_id).collect()
    }

    /// Processes of the ranks, in rank order.
    #[track_caller]
    pub(crate) fn pids(&self) -> Vec<u32> {
        let ranks = self.run()["world"]["ranks"].as_array().expect("a list of ranks");
        let pid = |rank: &Value| u32::try_from(rank["pid"].as_u64()?).ok();
        ranks.iter().map(|rank| pid(rank).expect("a process has a number")).collect()
    }
}

/// `suite/name` of the kernel of a point.
pub(crate) fn kernel_id(point: &Value) -> String {
    let text = |name: &str| point[name].as_str().unwrap_or_default();
    format!("{}/{}", text("suite"), text("kernel"))
}
