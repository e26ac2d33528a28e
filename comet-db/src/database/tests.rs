//! Facts about a database as a whole.

use std::fs;

use super::*;
use crate::fixture::{Example, Folder, token};
use crate::index::{Cursor, Filter};

fn add(database: &mut Database, bytes: &[u8]) -> Added {
    database.add(Arrival { bytes, limits: Limits::FOREIGN, token: None }).unwrap()
}

/// A database of several files, one of them with two runs, one pending.
fn filled(folder: &Folder) -> Database {
    let mut database = Database::open(folder.path()).unwrap();
    for number in 0..5 {
        let machine = ["hawk", "lumi"][number as usize % 2];
        let day = ["2026-01-01", "2026-02-01"][number as usize / 3];
        add(&mut database, &Example { number, machine, day, n_points: 4 }.file());
    }
    let pair = [5, 6].map(|number| Example { number, ..Example::default() }.file()).concat();
    add(&mut database, &pair);
    let mut submitter = token("lab", &[Scope::Submit], "*");
    submitter.sha256 = database.add_token(submitter.clone()).unwrap().sha256();
    let bytes = Example { number: 7, ..Example::default() }.file();
    let arrival = Arrival { bytes: &bytes, limits: Limits::FOREIGN, token: Some(&submitter) };
    assert_eq!(database.add(arrival).unwrap().runs[0].state, State::Pending);
    database
}

fn published() -> Filter {
    Filter { state: Some(State::Published), ..Filter::default() }
}

#[test]
fn a_file_is_added_once() {
    let folder = Folder::on_engine();
    let mut database = Database::open(folder.path()).unwrap();
    let bytes = Example::default().file();
    let first = add(&mut database, &bytes);
    assert!(first.is_new);
    assert_eq!(first.runs.len(), 1);
    let second = add(&mut database, &bytes);
    assert_eq!(second, Added { is_new: false, ..first.clone() });
    assert_eq!(database.blobs().read(first.blob).unwrap(), bytes);
    assert_eq!(database.index().audit(9).unwrap().len(), 1);
    let again = Example { day: "2026-01-02", ..Example::default() }.file();
    let third = add(&mut database, &again);
    assert_eq!((first.n_in_others, third.n_in_others), (0, 1), "they have the id of one run");
}

#[test]
fn an_index_that_is_made_anew_gives_equal_answers() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let before = database.index().dump().unwrap();
    assert_eq!(before.matches("RunRow").count(), 8);
    assert_eq!(before.matches("SeriesRow").count(), 1, "all are points of one curve");
    assert_eq!(database.reindex().unwrap(), 7);
    assert_eq!(database.index().dump().unwrap(), before);
    let tokens = database.index().tokens().unwrap();
    assert_eq!(tokens.len(), 1, "tokens have no blob, and stay");
    drop(database);
    folder.remove_index();
    let mut database = Database::open(folder.path()).unwrap();
    assert_eq!(database.problems(), [] as [&str; 0]);
    assert_eq!(database.index().dump().unwrap(), before, "without the old index");
}

#[test]
fn what_a_killed_process_left_is_completed_when_the_database_is_opened() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let before = database.index().dump().unwrap();
    // Killed between the blob and the commit.
    let blobs = database.index().blobs().unwrap();
    let pending = database.index().pending().unwrap()[0];
    let other = blobs.iter().find(|blob| **blob != pending).unwrap();
    for table in ["point", "label", "run"] {
        let key = if table == "run" { "id" } else { "run_id" };
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT id FROM run WHERE blob = '{other}')"
        );
        engine::open(folder.path()).unwrap().batch(&sql).unwrap();
    }
    let staged = database.blobs().stage(&Packed::of(b"never answered").unwrap()).unwrap();
    std::mem::forget(staged);
    drop(database);
    let mut database = Database::open(folder.path()).unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
    // Killed between the card and the commit.
    let card = database.blobs().card(pending).unwrap();
    database.blobs().put_card(pending, &Card { state: State::Published, ..card }).unwrap();
    drop(database);
    let mut database = Database::open(folder.path()).unwrap();
    assert_eq!(database.index().pending().unwrap(), []);
}

/// A step of the schema is a transaction of its own, and its process may be killed before the next one.
#[test]
fn rows_that_a_step_of_the_schema_outdates_are_made_anew_whenever_that_is() {
    let folder = Folder::on_engine();
    let before = filled(&folder).index().dump().unwrap();
    let mut store = engine::open(folder.path()).unwrap();
    let to_version_4 = "DROP TABLE outdated; DROP INDEX run_by_subject; \
                        ALTER TABLE run DROP COLUMN subject_id; DROP INDEX run_by_uuid; \
                        ALTER TABLE run DROP COLUMN is_dated; \
                        ALTER TABLE run RENAME COLUMN end_status TO ending; \
                        ALTER TABLE point DROP COLUMN setting; \
                        ALTER TABLE point DROP COLUMN line_low_ns; \
                        ALTER TABLE point DROP COLUMN line_high_ns; \
                        ALTER TABLE point RENAME COLUMN outcome TO status; \
                        ALTER TABLE point RENAME COLUMN number_key TO key";
    store.batch(to_version_4).unwrap();
    store.set_version(4).unwrap();
    let mut index = Index::open(store).unwrap();
    assert_ne!(index.dump().unwrap(), before, "the step is taken, the rows are those of before");
    drop(index);
    let mut database = Database::open(folder.path()).unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
    assert!(!database.index().is_outdated().unwrap());
    for of_before in ["UPDATE run SET subject = 0", "UPDATE point SET key = ''"] {
        assert!(engine::open(folder.path()).unwrap().batch(of_before).is_err(), "it adds none");
    }
}

#[test]
fn a_file_that_is_missing_is_written_again_with_what_is_known_of_it() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let before = database.index().dump().unwrap();
    let pending = database.index().pending().unwrap()[0];
    let bytes = database.blobs().read(pending).unwrap();
    let name = pending.to_string();
    for end in [".jsonl.gz", ".json"] {
        let path = folder.path().join("data").join(&name[..2]).join(format!("{name}{end}"));
        fs::remove_file(path).unwrap();
    }
    assert!(!add(&mut database, &bytes).is_new);
    assert_eq!(database.blobs().read(pending).unwrap(), bytes);
    assert_eq!(database.blobs().card(pending).unwrap().state, State::Pending);
    assert_eq!(database.index().dump().unwrap(), before);
    database.reindex().unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
}

#[test]
fn a_file_whose_rows_were_lost_has_the_card_of_its_later_arrival() {
    let (other, folder) = (Folder::on_engine(), Folder::on_engine());
    let mut source = filled(&other);
    let id = source.index().blobs().unwrap()[0];
    let bytes = source.blobs().read(id).unwrap();
    let mut database = Database::open(folder.path()).unwrap();
    let arrival = Arrival { bytes: &bytes, limits: Limits::OWN, token: None };
    let Prepared { packed, card, .. } = Database::prepare(arrival).unwrap();
    let earlier = Card { received_ms: card.received_ms - 1000, ..card };
    database.blobs.stage(&packed).unwrap().keep(&earlier).unwrap();
    let run = add(&mut database, &bytes).runs.remove(0);
    assert_eq!(database.blobs().card(id).unwrap().received_ms, run.received_ms);
    let before = database.index().dump().unwrap();
    database.reindex().unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
}

#[test]
fn damaged_and_missing_blobs_are_problems_and_the_others_stay() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let blobs = database.index().blobs().unwrap();
    let path = |id: BlobId| {
        let name = id.to_string();
        folder.path().join("data").join(&name[..2]).join(name + ".jsonl.gz")
    };
    fs::write(path(blobs[0]), b"x").unwrap();
    fs::remove_file(path(blobs[1])).unwrap();
    drop(database);
    let mut database = Database::open(folder.path()).unwrap();
    let missing = format!("the file of {} is missing (restore it from a backup)", blobs[1]);
    assert_eq!(database.problems(), [missing]);
    assert_eq!(database.reindex().unwrap(), 6);
    let [problem] = database.problems() else { panic!("{:?}", database.problems()) };
    assert!(problem.starts_with(&format!("{} is not in the index: ", blobs[0])), "{problem}");
    assert_eq!(database.index().blobs().unwrap(), blobs[2..]);
}

#[test]
fn runs_are_filtered_and_paged() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let index = database.index();
    let mut count = |filter: Filter| index.runs(&filter, None, 100).unwrap().runs.len();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(count(Filter::default()), 8);
    assert_eq!(count(published()), 7, "a pending run is in no public list");
    assert_eq!(count(Filter { machine: text("LUMI"), ..published() }), 2);
    assert_eq!(count(Filter { machine: text("lum"), ..published() }), 0);
    assert_eq!(count(Filter { mpi: text("open mpi"), ..published() }), 7);
    assert_eq!(count(Filter { mpi: text("%"), ..published() }), 0, "no pattern of the user's");
    assert_eq!(count(Filter { title: text("ECHO"), ..published() }), 7);
    assert_eq!(count(Filter { network: text("x"), ..published() }), 0);
    let label = |value| vec![("machine".to_owned(), value)];
    assert_eq!(count(Filter { labels: label(text("hawk")), ..published() }), 5);
    assert_eq!(count(Filter { labels: label(None), ..published() }), 7);
    let day = crate::card::time_ms("2026-02-01");
    assert_eq!(count(Filter { since_ms: day, ..published() }), 2);
    assert_eq!(count(Filter { until_ms: day, ..published() }), 5);
    let all = index.runs(&Filter::default(), None, 100).unwrap();
    assert_eq!(all.next, None);
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = index.runs(&Filter::default(), after, 3).unwrap();
        pages.extend(page.runs);
        let Some(next) = page.next else { break };
        assert_eq!(next.to_string().parse::<Cursor>(), Ok(next));
        after = Some(next);
    }
    assert_eq!(pages, all.runs);
    assert!("1-2".parse::<Cursor>().is_err());
}

#[test]
fn machines_curves_and_histories_are_found() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let index = database.index();
    let machines = index.machines(State::Published).unwrap();
    let machines: Vec<_> = machines.iter().map(|of| (&*of.machine.name, of.n_runs)).collect();
    assert_eq!(machines, [("hawk", 5), ("lumi", 2)]);
    let runs = index.runs(&published(), None, 100).unwrap().runs;
    let ids: Vec<_> = runs.iter().map(|(run, _)| run.id).collect();
    let series = index.series(&ids[..2]).unwrap();
    let [first, second] = &series[..] else { panic!("{series:?}") };
    assert_eq!(first.series, second.series);
    assert_eq!((first.n_points, first.least_x, first.most_x), (4, Some(1), Some(8)));
    let points = index.points(&ids[..2], &[first.series.id]).unwrap();
    assert_eq!(points.len(), 8);
    assert_eq!(index.points(&ids[..1], &[]).unwrap().len(), 4);
    let mut history = |x| {
        let filter = Filter { machine: Some("hawk".into()), ..published() };
        index.history(first.series.id, [x, Some(2)], &filter).unwrap()
    };
    let times: Vec<_> = history(Some(8)).iter().map(|(run, _)| run.started_ms).collect();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted());
    assert_eq!(history(None).len(), 0);
}

#[test]
fn tokens_admit_what_they_are_for_until_they_end() {
    let folder = Folder::on_engine();
    let mut database = Database::open(folder.path()).unwrap();
    let secret = database.add_token(token("lab", &[Scope::Submit], "hawk-*")).unwrap();
    let error = database.add_token(token("lab", &[Scope::Submit], "*")).unwrap_err().to_string();
    assert!(error.starts_with("there is a token lab already"), "{error}");
    let index = database.index();
    let found = index.token(&secret, now_ms()).unwrap().unwrap();
    assert_eq!(found.name, "lab");
    assert!(index.token(&Secret::new().unwrap(), now_ms()).unwrap().is_none());
    assert!(found.may(Scope::Submit) && !found.may(Scope::Publish));
    let bytes = Example::default().file();
    let arrival = Arrival { bytes: &bytes, limits: Limits::FOREIGN, token: Some(&found) };
    let error = database.add(arrival).unwrap_err().to_string();
    assert!(error.starts_with("the token lab is for machines hawk-*, not for hawk "), "{error}");
    let arrival =
        Arrival { token: Some(&TokenRow { machine: "*".into(), ..found.clone() }), ..arrival };
    let prepared = Database::prepare(arrival).unwrap();
    database.revoke("lab").unwrap();
    let error = database.keep(prepared).unwrap_err().to_string();
    assert!(error.starts_with("the token lab has ended"), "{error}");
    assert_eq!(database.blobs().ids().unwrap(), []);
    assert!(database.index().token(&secret, now_ms()).unwrap().is_none(), "it is revoked");
    assert!(database.revoke("lab").is_err());
    let short = TokenRow { expires_ms: Some(1), ..token("short", &[Scope::Submit], "*") };
    let secret = database.add_token(short).unwrap();
    assert!(database.index().token(&secret, 0).unwrap().is_some());
    assert!(database.index().token(&secret, 1).unwrap().is_none(), "it has expired");
    let actions = database.index().audit(9).unwrap();
    let actions: Vec<_> = actions.iter().map(|entry| &*entry.action).collect();
    assert_eq!(actions, ["add token", "revoke token", "add token"]);
}

#[test]
fn a_pending_run_is_published_once_and_stays_so() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let id = database.index().pending().unwrap()[0];
    assert!(database.publish(id, OPERATOR).unwrap());
    assert!(!database.publish(id, OPERATOR).unwrap());
    assert_eq!(database.index().runs(&published(), None, 100).unwrap().runs.len(), 8);
    let before = database.index().dump().unwrap();
    database.reindex().unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
    assert!(database.publish(BlobId::of(b"none"), OPERATOR).is_err());
}

#[test]
fn a_backup_is_a_database_and_is_brought_up_to_date() {
    let (folder, to) = (Folder::on_engine(), Folder::new());
    let mut database = filled(&folder);
    assert_eq!(database.back_up(to.path()).unwrap(), 7);
    let copy = |to: &Folder| {
        let mut copy = Database::open(to.path()).unwrap();
        assert_eq!(copy.problems(), [] as [&str; 0]);
        [copy.index().dump().unwrap(), format!("{:?}", copy.index().tokens().unwrap())]
    };
    let own = |database: &mut Database| {
        let index = database.index();
        [index.dump().unwrap(), format!("{:?}", index.tokens().unwrap())]
    };
    assert_eq!(copy(&to), own(&mut database));
    add(&mut database, &Example { number: 99, ..Example::default() }.file());
    let id = database.index().pending().unwrap()[0];
    database.publish(id, OPERATOR).unwrap();
    assert_eq!(database.back_up(to.path()).unwrap(), 1);
    assert_eq!(copy(&to), own(&mut database));
}

#[test]
fn a_folder_of_other_things_and_a_run_of_the_future_are_refused() {
    let folder = Folder::new();
    folder.write("notes.txt", "x");
    let error = Database::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("is no database (name a new folder"), "{error}");
    // A folder that root cannot read either.
    let path = folder.path().join("loop");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    for opened in [Database::open(&path), Database::existing(&path)] {
        let error = opened.unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {}: ", path.display())), "{error}");
        assert!(error.ends_with("(see to its permissions)"), "{error}");
    }
    let folder = Folder::on_engine();
    let mut database = Database::open(folder.path()).unwrap();
    let bytes = Example { day: "9000-01-01", ..Example::default() }.file();
    let arrival = Arrival { bytes: &bytes, limits: Limits::FOREIGN, token: None };
    let error = database.add(arrival).unwrap_err().to_string();
    assert!(
        error.contains("started at 9000-01-01T00:00:00.000Z, which is in the future"),
        "{error}"
    );
    assert_eq!(database.blobs().ids().unwrap(), []);
}

#[test]
fn a_transaction_that_panics_is_dropped_and_the_next_one_begins() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let before = database.index().dump().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        database.index().write(|index| -> Result<(), Error> {
            index.clear()?;
            panic!("within a transaction")
        })
    }));
    assert!(panicked.is_err());
    database.index().write(|index| index.note(0, ["a", "b", "c"])).unwrap();
    assert_eq!(database.index().dump().unwrap(), before);
}

#[test]
fn a_backup_goes_to_a_folder_of_its_own_and_takes_nothing_back() {
    let (folder, to, other) = (Folder::on_engine(), Folder::new(), Folder::new());
    let mut database = filled(&folder);
    other.write("thesis.txt", "x");
    let error = database.back_up(other.path()).unwrap_err().to_string();
    assert!(error.contains("holds something else than a copy of this database"), "{error}");
    let stranger = Folder::on_engine();
    drop(Database::open(stranger.path()).unwrap());
    assert!(database.back_up(stranger.path()).is_err(), "another database");
    assert!(Database::open(stranger.path()).unwrap().blobs().ids().unwrap().is_empty());
    database.back_up(to.path()).unwrap();
    let pending = database.index().pending().unwrap()[0];
    let copies = Blobs::open(to.path()).unwrap();
    let card = database.blobs().card(pending).unwrap();
    copies.put_card(pending, &Card { state: State::Published, ..card }).unwrap();
    let ids = database.blobs().ids().unwrap();
    let name = ids.iter().find(|id| **id != pending).unwrap().to_string();
    fs::remove_file(folder.path().join("data").join(&name[..2]).join(name.clone() + ".json"))
        .unwrap();
    database.back_up(to.path()).unwrap();
    let [problem] = database.problems() else { panic!("{:?}", database.problems()) };
    assert!(problem.starts_with(&format!("{name} is not in the backup: cannot read")), "{problem}");
    assert_eq!(copies.card(pending).unwrap().state, State::Published);
}

#[test]
fn a_database_is_made_for_its_owner_alone_and_not_by_a_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    assert!(Database::existing(folder.path()).is_err(), "an empty folder stays one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let path = folder.path().join("new");
    let database = Database::open(&path).unwrap();
    for path in [&path, &path.join("data"), &path.join("data/tmp")] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    let id = database.blobs().id().unwrap().unwrap();
    assert_eq!(id.len(), 32);
    drop(database);
    let database = Database::existing(&path).unwrap();
    assert_eq!(database.blobs().id().unwrap().unwrap(), id);
    // In a folder that others may read.
    let folder = Folder::new();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let _database = Database::open(folder.path()).unwrap();
    for end in ["", "-wal", "-shm"] {
        let path = folder.path().join(format!("index.sqlite{end}"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{end}");
    }
}

#[test]
fn two_that_write_at_once_lose_nothing() {
    let folder = Folder::on_engine();
    let mut first = Database::open(folder.path()).unwrap();
    let add_all = |database: &mut Database, numbers: std::ops::Range<u32>| {
        for number in numbers {
            // Files around 10 come from both.
            add(database, &Example { number, ..Example::default() }.file());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| add_all(&mut Database::open(folder.path()).unwrap(), 0..12));
        add_all(&mut first, 8..20);
    });
    assert_eq!(first.index().blobs().unwrap().len(), 20);
    let entries = first.index().audit(99).unwrap();
    assert_eq!(entries.len(), 20, "each file is added once");
    let before = first.index().dump().unwrap();
    first.reindex().unwrap();
    assert_eq!(first.index().dump().unwrap(), before);
}

#[test]
fn a_reader_sees_one_moment_whatever_is_added_meanwhile() {
    let folder = Folder::on_engine();
    let mut database = filled(&folder);
    let mut reader = Database::reader(folder.path()).unwrap();
    let seen = reader.read(|index| {
        let before = index.dump()?;
        add(&mut database, &Example { number: 99, ..Example::default() }.file());
        Ok([before, index.dump()?])
    });
    let [before, after] = seen.unwrap();
    assert_eq!(before, after);
    assert_eq!(reader.dump().unwrap(), database.index().dump().unwrap());
}

#[test]
fn names_are_ordered_by_their_bytes_and_letters_of_ascii_have_no_case() {
    let folder = Folder::on_engine();
    let mut database = Database::open(folder.path()).unwrap();
    let names = ["b", "É", "Z-1", "a_2", "A", "é", "Z"];
    for (number, machine) in (0..).zip(names) {
        add(&mut database, &Example { number, machine, ..Example::default() }.file());
    }
    let index = database.index();
    assert_eq!(index.machine_names().unwrap(), ["A", "Z", "Z-1", "a_2", "b", "É", "é"]);
    let mut count = |name: &str| {
        let filter = Filter { machine: Some(name.into()), ..published() };
        index.runs(&filter, None, 100).unwrap().runs.len()
    };
    assert_eq!(["B", "z-1", "é", "É"].map(&mut count), [1, 1, 1, 1]);
}

#[test]
fn an_index_is_of_one_database() {
    let (folder, other) = (Folder::on_engine(), Folder::new());
    drop(Database::open(folder.path()).unwrap());
    for file in ["index.sqlite", engine::POSTGRES] {
        if let Ok(bytes) = fs::read(folder.path().join(file)) {
            fs::write(other.path().join(file), bytes).unwrap();
        }
    }
    fs::create_dir(other.path().join("data")).unwrap();
    let error = Database::open(other.path()).unwrap_err().to_string();
    drop(fs::remove_file(other.path().join(engine::POSTGRES)));
    assert!(error.contains("(give each database an index of its own)"), "{error}");
}

#[test]
fn long_runs_come_in_parts() {
    let folder = Folder::on_engine();
    let mut database = Database::open(folder.path()).unwrap();
    let mut records = Example { n_points: 10, ..Example::default() }.records();
    let comet_report::record::Record::Point(point) = records[1].clone() else { panic!("a point") };
    let n_points = 5003;
    let points = (0..n_points).map(|index| {
        let mut point = point.clone();
        point.key = format!("{index:016x}");
        point.params.0[0].1 = comet_report::record::Param::Number(index % 700);
        comet_report::record::Record::Point(point)
    });
    records.splice(1..11, points);
    let Some(comet_report::record::Record::End(end)) = records.last_mut() else { panic!("an end") };
    end.points.ok = 5003;
    let run = add(&mut database, &crate::fixture::file(&records)).runs.remove(0);
    let index = database.index();
    let (first, next) = index.points_behind(run.id, &[], None).unwrap();
    assert_eq!((first.len(), next), (5000, Some(4999)));
    let (rest, next) = index.points_behind(run.id, &[], next).unwrap();
    assert_eq!((rest.len(), next), (3, None));
    assert_eq!([first, rest].concat(), index.points(&[run.id], &[]).unwrap());
    let (series, n_more) = index.first_series(run.id).unwrap();
    assert_eq!((series.len(), n_more), (500, 200));
    assert_eq!(index.series(&[run.id]).unwrap().len(), 700);
    assert_eq!(index.points_behind(run.id, &[series[0].series.id], None).unwrap().0.len(), 8);
    assert!(index.is_published(run.blob).unwrap());
    assert!(!index.is_published(BlobId::of(b"none")).unwrap());
}
