//! A fresh folder for each test, and the program run in it under a time limit.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::records::Records;

/// Time limit of a program and of a wait for an event. Only a program that hangs takes as
/// long: tests run beside builds, on machines that are slow already.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// Starts of the variables from which the program learns that a launcher started it.
const LAUNCHERS: [&str; 9] =
    ["OMPI_", "PMI_", "HYDI_", "MV2_", "PALS_", "FLUX_", "JSM_", "SLURM_", "PMIX_"];
/// Time from one look to the next.
const STEP: Duration = Duration::from_millis(5);

/// A folder of one test, removed with everything in it when the test ends.
pub(crate) struct Folder {
    /// Path of the folder.
    pub(crate) path: PathBuf,
}

impl Folder {
    /// A new, empty folder.
    pub(crate) fn new() -> Self {
        static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("comet-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a new folder can be made");
        Self { path }
    }

    /// Writes a file into it; returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::write(&path, text).expect("a new file can be written");
        path
    }

    /// Text of a file in it.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).expect("the file is there")
    }

    /// Records of a result file in it.
    pub(crate) fn records(&self, name: &str) -> Records {
        Records::parse(&self.read(name))
    }

    /// Names of what is in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).expect("the folder is there");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
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

    /// Starts `comet-run` with the words of `line`.
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

    /// Number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard output so far.
    pub(crate) fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Standard error so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Status of its end, if it has ended.
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

/// Text that arrives through a pipe.
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

/// Exit code and output of a program.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Output {
    /// This output, of a program that succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.code(0)
    }

    /// This output, of a program that ended with `code`.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// This output, with `text` somewhere in standard output.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no '{text}' in {self:#?}");
        self
    }

    /// This output, with `text` somewhere in standard error.
    #[track_caller]
    pub(crate) fn notes(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no '{text}' in {self:#?}");
        self
    }
}
