//! Facts about PostgreSQL alone, with a server that `COMET_TEST_POSTGRES` names; those that both engines share
//! are in the tests of the database.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::Database;
use crate::engine;
use crate::fixture::{Example, Folder, token};
use crate::index::marks::MarkRow;
use crate::limits::Limits;
use crate::token::Scope;
use crate::{Arrival, card::OPERATOR};

/// All that is in the index of `database`.
fn answers(database: &mut Database) -> [String; 2] {
    let index = database.index();
    let kept = (index.tokens().unwrap(), index.marks().unwrap(), index.audit(99).unwrap());
    [index.dump().unwrap(), format!("{kept:?}")]
}

fn server(address: &str) -> Server {
    Server { address: address.into(), certificates: None }
}

fn add(database: &mut Database, number: u32) {
    let bytes = Example { number, ..Example::default() }.file();
    database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token: None }).unwrap();
}

#[test]
fn a_database_moves_to_a_server_and_its_backup_does_without_one() {
    let (folder, to, other) = (Folder::new(), Folder::new(), Folder::new());
    let Some(address) = folder.address() else { return };
    let server = server(&address);
    let mut database = Database::open(folder.path()).unwrap();
    add(&mut database, 0);
    add(&mut database, 1);
    database.add_token(token("lab", &[Scope::Submit], "*")).unwrap();
    database.add_mark(&MarkRow::new("hawk", 1, "firmware", OPERATOR)).unwrap();
    let before = answers(&mut database);
    drop(database);
    let mut database = Database::on_postgres(folder.path(), &server).unwrap();
    assert_eq!(answers(&mut database), before);
    assert!(!folder.path().join("index.sqlite").exists());
    let mode = folder.path().join(engine::POSTGRES).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    database.revoke("lab").unwrap();
    add(&mut database, 2);
    let before = answers(&mut database);
    drop(database);
    let mut database = Database::on_postgres(folder.path(), &server).unwrap();
    assert_eq!(answers(&mut database), before, "nothing is taken back");
    assert_eq!(database.back_up(to.path()).unwrap(), 3);
    assert!(to.path().join("index.sqlite").exists());
    assert_eq!(answers(&mut Database::open(to.path()).unwrap()), before);
    let error = Database::on_postgres(other.path(), &server).unwrap_err().to_string();
    assert!(error.contains("(give each database an index of its own)"), "{error}");
    assert!(!other.path().join(engine::POSTGRES).exists(), "it stays as it was");
}

#[test]
fn what_was_revoked_stays_so_however_often_an_index_moves() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (Some(here), Some(there)) = (folder.address(), other.address()) else { return };
    // For the end of its schema.
    other.write(engine::POSTGRES, &there);
    let mut database = Database::open(folder.path()).unwrap();
    database.add_token(token("lab", &[Scope::Submit], "*")).unwrap();
    drop(database);
    // A move that fails once the tokens are there.
    let in_the_way = folder.write("index.part/file", "x");
    Database::on_postgres(folder.path(), &server(&here)).unwrap_err();
    std::fs::remove_dir_all(in_the_way.parent().unwrap()).unwrap();
    let mut database = Database::open(folder.path()).unwrap();
    database.revoke("lab").unwrap();
    database.add_token(token("new", &[Scope::Submit], "*")).unwrap();
    let before = answers(&mut database);
    drop(database);
    let mut database = Database::on_postgres(folder.path(), &server(&here)).unwrap();
    assert_eq!(answers(&mut database), before);
    // To another server and back.
    drop(database);
    let mut database = Database::on_postgres(folder.path(), &server(&there)).unwrap();
    assert_eq!(answers(&mut database), before);
    database.revoke("new").unwrap();
    let before = answers(&mut database);
    drop(database);
    let mut database = Database::on_postgres(folder.path(), &server(&here)).unwrap();
    assert_eq!(answers(&mut database), before);
}

#[test]
fn a_session_that_ends_is_opened_again_and_its_transaction_is_lost() {
    let folder = Folder::on_engine();
    if !folder.path().join(engine::POSTGRES).exists() {
        return;
    }
    let mut store = engine::open(folder.path()).unwrap();
    let mut other = engine::open(folder.path()).unwrap();
    let mut end = |store: &mut dyn Store| {
        let id = store.query("SELECT pg_backend_pid()::bigint", &[]).unwrap().remove(0).int();
        let ended =
            other.query("SELECT pg_terminate_backend($1::int)::text", &[id.unwrap().into()]);
        assert_eq!(ended.unwrap().remove(0).text().unwrap(), "true");
    };
    end(&mut *store);
    assert_eq!(store.version().unwrap(), 0, "a session is opened");
    store.begin().unwrap();
    store.set_version(7).unwrap();
    end(&mut *store);
    assert!(store.set_version(8).is_err());
    let error = store.set_version(9).unwrap_err().to_string();
    assert!(error.contains("the transaction ended with its session"), "{error}");
    assert!(store.commit().is_err());
    store.roll_back();
    assert_eq!(store.version().unwrap(), 0);
    end(&mut *store);
    store.begin().unwrap();
    store.set_version(1).unwrap();
    store.commit().unwrap();
    assert_eq!(store.version().unwrap(), 1);
}

#[test]
fn servers_that_do_not_answer_and_wrong_addresses_are_refused_in_a_sentence() {
    let refusal = |address: &str| Postgres::open(&server(address)).unwrap_err().to_string();
    assert!(refusal("http://x").contains("(write postgres://USER@HOST/NAME)"));
    let folder = Folder::new();
    let socket = format!("host={} dbname=comet user=x password=secret", folder.path().display());
    let error = refusal(&socket);
    assert!(error.contains("cannot connect to PostgreSQL at /"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    let wrong = Server { certificates: Some("none".into()), ..server(&socket) };
    let error = Postgres::open(&wrong).unwrap_err().to_string();
    assert!(error.contains("(expected certificates in PEM"), "{error}");
}

#[test]
fn a_server_that_listens_and_says_nothing_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = format!("host=127.0.0.1 port={port} user=x dbname=x connect_timeout=1");
    let error = Postgres::open(&server(&address)).unwrap_err().to_string();
    assert!(error.contains("it did not answer for 2 s"), "{error}");
}
