//! Arguments of the commands of the result database.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Add result files; a new folder becomes a database
    #[command(after_help = "Example:\n  comet-run db add results a.jsonl b.jsonl")]
    Add(AddArgs),
    /// Keep the index of a database, new or not, on a server of PostgreSQL
    #[command(
        after_help = "Example:\n  comet-run db init results --index 'host=/run/postgresql dbname=comet'"
    )]
    Init(InitArgs),
    /// List runs, the latest first
    #[command(
        after_help = "Example:\n  comet-run db list results --machine hawk --since 2026-01-01"
    )]
    List(ListRunsArgs),
    /// Publish the runs of pending files
    #[command(after_help = "Example:\n  comet-run db accept results 3f9a0c")]
    Accept(AcceptArgs),
    /// Write the published runs as a site of files, for any web server or none
    #[command(after_help = "Example:\n  comet-run db publish results site")]
    Publish(PublishArgs),
    /// Make a database of simulated runs, to look around in
    #[command(after_help = "Example:\n  comet-run db demo d && comet-run serve d")]
    Demo(FolderArgs),
    /// Make the index anew from the files
    #[command(after_help = "Example:\n  comet-run db reindex results")]
    Reindex(FolderArgs),
    /// Add, list and revoke the tokens of submitters
    #[command(subcommand)]
    #[command(
        after_help = "Example:\n  comet-run db token add results lab --machine 'hawk-*' --days 365"
    )]
    Token(TokenCommand),
    /// Make, list and remove marks of changes that are known: they explain alerts
    #[command(subcommand)]
    #[command(
        after_help = "Example:\n  comet-run db mark add results hawk 2026-01-31 'new switch firmware'"
    )]
    Mark(MarkCommand),
    /// Bring a copy of a database up to date, which is a database itself
    #[command(after_help = "Example:\n  comet-run db backup results /mnt/backup/results")]
    Backup(BackupArgs),
    /// Print the audit log, the latest entry first
    #[command(after_help = "Example:\n  comet-run db log results")]
    Log(FolderArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Database of PostgreSQL, as in postgres://USER@HOST/NAME; - to read it from the standard input
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) index: String,
    /// Certificates in PEM, one of which has to vouch for the server; without them nothing is encrypted
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Result files, packed by gzip or not
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListRunsArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Name of a machine
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Part of the version of the MPI library, or of the transport
    #[arg(long, value_name = "TEXT")]
    pub(crate) mpi: Option<String>,
    /// Part of the name of the network
    #[arg(long, value_name = "TEXT")]
    pub(crate) network: Option<String>,
    /// Label, as in note=night, or its name alone; may be repeated
    #[arg(long = "label", value_name = "NAME[=VALUE]")]
    pub(crate) labels: Vec<String>,
    /// First day, or an RFC 3339 time
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub(crate) since: Option<i64>,
    /// Last day, or an RFC 3339 time before which runs started
    #[arg(long, value_name = "DAY", value_parser = parse_last_day)]
    pub(crate) until: Option<i64>,
    /// State of the runs [default: both]
    #[arg(long, value_name = "STATE", value_parser = ["pending", "published"])]
    pub(crate) state: Option<String>,
    /// Leave out runs that a later published one supersedes
    #[arg(long)]
    pub(crate) latest: bool,
    /// Most runs
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print JSON, a run a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Files, by the first digits of their names, as in db list
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Folder of the copy, new or of an earlier backup
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Folder of the site, new or of an earlier one
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// Size up to which reports and then result files are in it, the latest first, as in 100Mi
    #[arg(long, value_name = "BYTES", default_value = "18Mi", value_parser = super::values::parse_bytes)]
    pub(crate) size: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Add a token, and print it once
    Add(AddTokenArgs),
    /// List the tokens
    List(FolderArgs),
    /// Revoke a token
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddTokenArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Name of the submitter
    #[arg(value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: String,
    /// Rights, with commas between them: submit; publish (its runs are not pending); admin
    #[arg(long, value_name = "SCOPES", default_value = "submit", value_delimiter = ',', value_parser = ["submit", "publish", "admin"])]
    pub(crate) scope: Vec<String>,
    /// Machines whose runs it may submit; * stands for any letters, ? for one
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pub(crate) machine: String,
    /// Days until it expires
    #[arg(long, value_name = "N", default_value = "365", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(crate) days: u32,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MarkCommand {
    /// Make a mark
    Add(AddMarkArgs),
    /// List the marks, by their days
    List(FolderArgs),
    /// Remove a mark
    Remove(RemoveMarkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddMarkArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Name of the machine
    #[arg(value_name = "MACHINE")]
    pub(crate) machine: String,
    /// Day of the change, or an RFC 3339 time
    #[arg(value_name = "DAY", value_parser = parse_day)]
    pub(crate) day: i64,
    /// Note on what changed, of at most 200 bytes
    #[arg(value_name = "NOTE", value_parser = parse_note)]
    pub(crate) note: String,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveMarkArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Id of the mark, as in db mark list
    #[arg(value_name = "ID", value_parser = parse_mark)]
    pub(crate) id: comet_db::id::Id,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Name of the token
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Folder of the database
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Address and port; other hosts should come through a proxy with TLS
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8910", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Address of a proxy on another machine, which names its clients in X-Forwarded-For; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) proxy: Vec<IpAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Result file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Address of the database, as in https://results.example
    #[arg(long, value_name = "URL", required_unless_present = "bundle")]
    pub(crate) to: Option<String>,
    /// Facts to replace by pseudonyms, with commas between them; none for nothing
    #[arg(long, value_name = "FACTS", default_value = "hosts,user,paths", value_delimiter = ',', value_parser = ["hosts", "user", "paths", "none"])]
    pub(crate) redact: Vec<String>,
    /// Send without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write what would be sent to this file instead, to be sent from another machine
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub(crate) bundle: Option<PathBuf>,
    /// Certificates in PEM, one of which has to vouch for the database, in place of the public ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// File with the token, readable by its owner alone [default: the variable COMET_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

fn parse_day(text: &str) -> Result<i64, String> {
    comet_db::card::time_ms(text).ok_or_else(no_day)
}

fn parse_last_day(text: &str) -> Result<i64, String> {
    comet_db::card::end_ms(text).ok_or_else(no_day)
}

fn no_day() -> String {
    "write a day, as in 2026-01-31, or an RFC 3339 time".into()
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address with a port, as in 127.0.0.1:8910".into())
}

fn parse_mark(text: &str) -> Result<comet_db::id::Id, String> {
    text.parse().map_err(|_| "a mark has 16 hex digits (see comet-run db mark list)".into())
}

fn parse_note(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 200 || text.chars().any(char::is_control) {
        return Err("a note has 1 to 200 bytes on one line".into());
    }
    Ok(text.into())
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if text.is_empty()
        || text.len() > 64
        || !text.chars().all(is_plain)
        || text == comet_db::card::OPERATOR
    {
        return Err("a name has 1 to 64 letters, digits or any of -_.@ and is not operator".into());
    }
    Ok(text.into())
}
