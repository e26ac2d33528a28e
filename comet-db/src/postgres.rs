//! PostgreSQL as the engine of an index: a server that several machines share.
//!
//! A session is opened when it is needed, and anew after the server has closed it, so that a server that
//! starts again is found. A call within a transaction is never repeated: the transaction fails with its
//! session.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;
use crate::engine::Server;
use crate::store::{Dialect, Row, Store, Value};
use crate::submit::{certificates, no_certificates};

/// Time for a connection to one address of the server, unless the address of the index has `connect_timeout`.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for a statement, on top of that which the server gives it, before its session is given up.
const PATIENCE: Duration = Duration::from_secs(15);
/// Times of the server for a statement, outside of a transaction and inside.
const STATEMENT: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(600)];
/// Times after which the systems of both sides take a silent connection for a broken one.
const SILENCE: Duration = Duration::from_secs(30);
/// Prepared statements that a session keeps.
const STATEMENTS: usize = 64;

/// Settings of a session. A client that stops within a transaction holds its lock for two minutes at the
/// most.
const SETTINGS: &str = "
    SET lock_timeout = '30s';
    SET idle_in_transaction_session_timeout = '120s';
    SET tcp_keepalives_idle = 30;
    SET tcp_keepalives_interval = 10;
    SET tcp_keepalives_count = 3;
    SET client_min_messages = warning;
";

/// Start of a transaction that excludes other writers of the same schema. Each of its statements sees what
/// was committed before the lock was granted.
const BEGIN: &str = "
    BEGIN ISOLATION LEVEL READ COMMITTED;
    SELECT pg_advisory_xact_lock(hashtext('comet'), hashtext(current_schema()));
";

/// Table with the version of the schema.
const VERSION: &str = "
    CREATE TABLE IF NOT EXISTS comet_schema (version BIGINT NOT NULL);
    INSERT INTO comet_schema SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM comet_schema);
";

/// A connection to a database of PostgreSQL.
pub struct Postgres {
    config: Config,
    encryption: Option<MakeRustlsConnect>,
    session: Option<Session>,
    is_in_transaction: bool,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

/// A session of the server. It is driven while a call waits for it.
struct Session {
    driver: Driver,
    client: Client,
    statements: HashMap<String, Statement>,
}

/// The runtime that drives a session, until it is dropped.
struct Driver(Option<Runtime>);

impl Driver {
    fn new() -> io::Result<Self> {
        Ok(Self(Some(Builder::new_current_thread().enable_all().build()?)))
    }

    /// Result of `work`, if it ends within `limit`.
    fn wait<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let runtime = self.0.as_ref()?;
        runtime.block_on(async { timeout(limit, work).await }).ok()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Without a wait: a name may still be looked up, and a task of a server must not wait.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A statement.
#[derive(Clone, Copy)]
enum Call<'a> {
    /// Several ones, separated by semicolons.
    Batch(&'a str),
    /// One whose rows are asked for.
    Query(&'a str, &'a [Value<'a>]),
    /// One whose number of changed rows is asked for.
    Execute(&'a str, &'a [Value<'a>]),
}

/// An answer of the server: rows, and the number of rows that a statement changed.
type Answer = (Vec<Row>, u64);

impl Postgres {
    /// A connection to the database that `server` is.
    ///
    /// # Errors
    /// If its address or certificates are none, it cannot be reached, or its texts are not in UTF-8.
    pub fn open(server: &Server) -> Result<Self, Error> {
        let encryption = server.certificates.as_deref().map(encryption).transpose()?;
        let mut config: Config = server.address.parse().map_err(|error| {
            let words = words(&error);
            Error::Unknown(format!("{words} (write postgres://USER@HOST/NAME)"))
        })?;
        config.application_name("comet-run").keepalives_idle(SILENCE).tcp_user_timeout(SILENCE);
        config.keepalives_interval(SILENCE / 3).keepalives_retries(3);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if encryption.is_some() {
            config.ssl_mode(SslMode::Require);
        }
        let mut opened = Self { config, encryption, session: None, is_in_transaction: false };
        let sql = "SELECT current_setting('server_encoding'), to_regclass('comet_schema')::text";
        let mut rows = opened.query(sql, &[])?.into_iter();
        let mut row = rows.next().unwrap_or_else(|| Vec::new().into());
        let encoding = row.text()?;
        if encoding != "UTF8" {
            return Err(Error::Index(format!(
                "its texts are in {encoding}, expected UTF8 (createdb --encoding UTF8 --template template0)"
            )));
        }
        if row.maybe_text()?.is_none() {
            opened.begin()?;
            opened.batch(VERSION)?;
            opened.commit()?;
        }
        Ok(opened)
    }

    /// Does `call`, on another session if that before was lost; once more, unless it is part of a
    /// transaction.
    fn call(&mut self, call: Call<'_>) -> Result<Answer, Error> {
        let mut is_last = self.is_in_transaction;
        loop {
            let limit = STATEMENT[usize::from(self.is_in_transaction)] + PATIENCE;
            let session = match &mut self.session {
                Some(session) => session,
                None if self.is_in_transaction => {
                    return Err(Error::Index("the transaction ended with its session".into()));
                }
                None => {
                    // What fails on a new session fails for another reason.
                    is_last = true;
                    self.session.insert(Session::open(&self.config, self.encryption.as_ref())?)
                }
            };
            let failure = match session.wait(limit, call) {
                Some(Ok(answer)) => return Ok(answer),
                Some(Err(error)) if !is_lost(&error) => return Err(refused(&error)),
                Some(Err(error)) => refused(&error),
                None => {
                    is_last = true;
                    let seconds = limit.as_secs();
                    Error::Index(format!(
                        "the server did not answer for {seconds} s (does it run?)"
                    ))
                }
            };
            self.session = None;
            if std::mem::replace(&mut is_last, true) {
                return Err(failure);
            }
        }
    }
}

impl Session {
    fn open(config: &Config, encryption: Option<&MakeRustlsConnect>) -> Result<Self, Error> {
        let driver = Driver::new();
        let driver = driver.map_err(Error::io("start a client of", "PostgreSQL", "close files"))?;
        // Twice: for each connection, and for what is said before the session stands.
        let n_hosts = u32::try_from(config.get_hosts().len()).unwrap_or(1).clamp(1, 10);
        let limit = *config.get_connect_timeout().unwrap_or(&CONNECT) * 2 * n_hosts;
        let connected = driver.wait(limit, async {
            let client = if let Some(encryption) = encryption {
                let (client, connection) = config.connect(encryption.clone()).await?;
                tokio::spawn(connection);
                client
            } else {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                client
            };
            let milliseconds = STATEMENT[0].as_millis();
            let sql = format!("{SETTINGS} SET statement_timeout = {milliseconds}");
            client.batch_execute(&sql).await?;
            Ok::<_, tokio_postgres::Error>(client)
        });
        let words = match connected {
            Some(Ok(client)) => return Ok(Self { driver, client, statements: HashMap::new() }),
            Some(Err(error)) => words(&error),
            None => format!("it did not answer for {} s", limit.as_secs()),
        };
        let place = place(config);
        Err(Error::Index(format!(
            "cannot connect to {place}: {words} (does the server run, and may you?)"
        )))
    }

    /// The answer to `call`, if it comes within `limit`.
    fn wait(
        &mut self,
        limit: Duration,
        call: Call<'_>,
    ) -> Option<Result<Answer, tokio_postgres::Error>> {
        let Self { driver, client, statements } = self;
        driver.wait(limit, answer(client, statements, call))
    }
}

/// The answer of the server to `call`.
async fn answer(
    client: &Client,
    statements: &mut HashMap<String, Statement>,
    call: Call<'_>,
) -> Result<Answer, tokio_postgres::Error> {
    let (sql, values) = match call {
        Call::Batch(sql) => return client.batch_execute(sql).await.map(|()| (Vec::new(), 0)),
        Call::Query(sql, values) | Call::Execute(sql, values) => (sql, values),
    };
    let statement = if let Some(statement) = statements.get(sql) {
        statement.clone()
    } else {
        if statements.len() >= STATEMENTS {
            statements.clear();
        }
        let statement = client.prepare(sql).await?;
        statements.insert(sql.to_owned(), statement.clone());
        statement
    };
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    if matches!(call, Call::Execute(..)) {
        return client.execute(&statement, &values).await.map(|n_rows| (Vec::new(), n_rows));
    }
    let rows = client.query(&statement, &values).await?;
    let read = |row: &tokio_postgres::Row| {
        let values = (0..row.len()).map(|index| value(row, index));
        Ok(Row::from(values.collect::<Result<Vec<_>, tokio_postgres::Error>>()?))
    };
    Ok((rows.iter().map(read).collect::<Result<_, tokio_postgres::Error>>()?, 0))
}

/// TLS with a server for which one of the certificates in the text `pem` vouches.
fn encryption(pem: &str) -> Result<MakeRustlsConnect, Error> {
    let mut roots = RootCertStore::empty();
    for one in certificates(pem.as_bytes())? {
        roots.add(one.der().to_vec().into()).map_err(no_certificates)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions();
    let config = config.map_err(no_certificates)?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// True if the session is of no use after `error`.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let ended = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    let is_of_system = error.source().is_some_and(|source| source.is::<io::Error>());
    error.is_closed() || is_of_system || error.code().is_some_and(|code| ended.contains(code))
}

/// `error` with its causes.
fn words(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(source) if error.as_db_error().is_some() => source.to_string(),
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// The refusal of the server.
fn refused(error: &tokio_postgres::Error) -> Error {
    let remedy = match error.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => {
            " (another process writes; try again)"
        }
        Some(code) if *code == SqlState::DISK_FULL => " (free some space on its server)",
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            " (the owner of the database may: ALTER DATABASE NAME OWNER TO USER)"
        }
        _ if is_lost(error) => " (the session was lost; try again)",
        _ => "",
    };
    Error::Index(format!("{}{remedy}", words(error)))
}

/// The server and database of `config`, without its password.
fn place(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let user = config.get_user().unwrap_or_default();
    let name = config.get_dbname().unwrap_or(user);
    format!("PostgreSQL at {}, database {name}", hosts.collect::<Vec<_>>().join(","))
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            // PostgreSQL holds no NUL; the reader of files passes none on, so that no row has one.
            Self::Text(text) => text.replace('\0', "\u{fffd}").to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The value in the column `index` of `row`; a column of another type holds no value of ours.
fn value(row: &tokio_postgres::Row, index: usize) -> Result<Value<'static>, tokio_postgres::Error> {
    Ok(match *row.columns()[index].type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(index)?.into(),
        Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(i64::from).into(),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.into(),
        Type::TEXT => row.try_get::<_, Option<String>>(index)?.into(),
        _ => Value::Null,
    })
}

impl Postgres {
    /// Begins the transaction that `sql` starts.
    fn start(&mut self, sql: &str) -> Result<(), Error> {
        let begun = self.batch(sql);
        self.is_in_transaction = begun.is_ok();
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }
}

impl Store for Postgres {
    fn dialect(&self) -> Dialect {
        let text = "TEXT COLLATE \"C\"";
        Dialect { int: "BIGINT", real: "DOUBLE PRECISION", text, clustered: "" }
    }

    fn version(&mut self) -> Result<i64, Error> {
        let rows = self.query("SELECT version FROM comet_schema", &[])?;
        rows.into_iter().next().map_or(Ok(0), |mut row| row.int())
    }

    fn set_version(&mut self, version: i64) -> Result<(), Error> {
        self.execute("UPDATE comet_schema SET version = $1", &[version.into()]).map(drop)
    }

    fn begin(&mut self) -> Result<(), Error> {
        let milliseconds = STATEMENT[1].as_millis();
        self.start(&format!("{BEGIN} SET LOCAL statement_timeout = {milliseconds}"))
    }

    fn begin_reading(&mut self) -> Result<(), Error> {
        self.start("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("COMMIT")?;
        self.is_in_transaction = false;
        Ok(())
    }

    fn roll_back(&mut self) {
        self.is_in_transaction = false;
        // A session that was lost has rolled back, and one that cannot is of no use.
        if let Some(session) = &mut self.session
            && !matches!(session.wait(PATIENCE, Call::Batch("ROLLBACK")), Some(Ok(_)))
        {
            self.session = None;
        }
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.call(Call::Batch(sql)).map(drop)
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, Error> {
        let (_, n_rows) = self.call(Call::Execute(sql, values))?;
        Ok(usize::try_from(n_rows).unwrap_or(usize::MAX))
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        self.call(Call::Query(sql, values)).map(|(rows, _)| rows)
    }
}

#[cfg(test)]
mod tests;
