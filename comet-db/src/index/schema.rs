//! Tables of an index, as steps from one version of the schema to the next.

use crate::Error;
use crate::store::Store;

/// Statements of all steps from one version to the next, in which `{int}`, `{real}`, `{text}` and `{clustered}`
/// stand for words of the dialect; the number of those that were taken is the version. A step that a release
/// contains never changes.
///
/// A step after which rows that follow from blobs have to be made anew adds itself to `outdated`, and renames
/// a column of theirs: a process of the version before can add no such row then.
const STEPS: &[&str] = &[
    include_str!("schema-1.sql"),
    include_str!("schema-2.sql"),
    include_str!("schema-3.sql"),
    include_str!("schema-4.sql"),
    include_str!("schema-5.sql"),
    include_str!("schema-6.sql"),
    include_str!("schema-7.sql"),
    include_str!("schema-8.sql"),
    include_str!("schema-9.sql"),
];

/// Tables whose rows follow from the blobs, so that those that refer to others come first; and the note that
/// they have to be made anew, which goes with them.
pub(super) const DERIVED: &[&str] = &["point", "label", "run", "series", "machine", "outdated"];

/// Tables whose rows no blob holds.
pub(super) const KEPT: &[&str] = &["token", "mark", "audit"];

/// Takes the steps that `store` lacks, each in a transaction.
///
/// # Errors
/// If the schema is of a later version, or the engine refuses.
pub(super) fn upgrade(store: &mut dyn Store) -> Result<(), Error> {
    let latest = number(STEPS.len());
    while store.version()? != latest {
        store.begin()?;
        let taken = step(store, latest).and_then(|()| store.commit());
        if taken.is_err() {
            store.roll_back();
            return taken;
        }
    }
    Ok(())
}

/// Takes the next step inside of a transaction, if there is one: the version is looked at again, because
/// another process may have been first.
fn step(store: &mut dyn Store, latest: i64) -> Result<(), Error> {
    let version = store.version()?;
    if version > latest {
        return Err(Error::Index(format!(
            "its schema has version {version}, expected at most {latest} (take a later comet-run)"
        )));
    }
    let Some(step) = usize::try_from(version).ok().and_then(|version| STEPS.get(version)) else {
        return Ok(());
    };
    store.batch(&store.dialect().apply(step))?;
    store.set_version(version + 1)
}

fn number(n: usize) -> i64 {
    i64::try_from(n).expect("steps are few")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;
    use crate::fixture::Folder;
    use crate::store::{Dialect, Row, Value};

    /// An engine whose first commit fails, as on a full disk.
    struct Full(Box<dyn Store>, bool);

    impl Store for Full {
        fn dialect(&self) -> Dialect {
            self.0.dialect()
        }
        fn version(&mut self) -> Result<i64, Error> {
            self.0.version()
        }
        fn set_version(&mut self, version: i64) -> Result<(), Error> {
            self.0.set_version(version)
        }
        fn begin(&mut self) -> Result<(), Error> {
            self.0.begin()
        }
        fn begin_reading(&mut self) -> Result<(), Error> {
            self.0.begin_reading()
        }
        fn commit(&mut self) -> Result<(), Error> {
            if std::mem::replace(&mut self.1, true) {
                return self.0.commit();
            }
            Err(Error::Index("the disk is full".into()))
        }
        fn roll_back(&mut self) {
            self.0.roll_back();
        }
        fn batch(&mut self, sql: &str) -> Result<(), Error> {
            self.0.batch(sql)
        }
        fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, Error> {
            self.0.execute(sql, values)
        }
        fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
            self.0.query(sql, values)
        }
    }

    #[test]
    fn a_step_whose_commit_fails_is_taken_again() {
        let folder = Folder::on_engine();
        let mut store = Full(engine::open(folder.path()).unwrap(), false);
        assert!(upgrade(&mut store).is_err());
        assert_eq!(store.version().unwrap(), 0);
        upgrade(&mut store).unwrap();
        assert_eq!(store.version().unwrap(), number(STEPS.len()), "no transaction is left open");
    }

    /// Names and definitions of all tables and indexes.
    fn definitions(store: &mut dyn Store) -> Vec<String> {
        let is_sqlite = store.dialect().int == "INTEGER";
        let sql = if is_sqlite {
            "SELECT name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
        } else {
            "SELECT table_name || '.' || column_name || ': ' || data_type || is_nullable || \
             COALESCE(collation_name, '') AS text FROM information_schema.columns \
             WHERE table_schema = current_schema() \
             UNION ALL SELECT replace(indexdef, schemaname, '') FROM pg_indexes \
             WHERE schemaname = current_schema() ORDER BY text"
        };
        let rows = store.query(sql, &[]).unwrap();
        rows.into_iter().map(|mut row| row.text().unwrap()).collect()
    }

    #[test]
    fn every_earlier_version_is_taken_to_the_latest_one() {
        let folder = Folder::on_engine();
        let mut latest = engine::open(folder.path()).unwrap();
        upgrade(&mut *latest).unwrap();
        for version in 0..=STEPS.len() {
            let folder = Folder::on_engine();
            let mut store = engine::open(folder.path()).unwrap();
            for step in &STEPS[..version] {
                store.batch(&store.dialect().apply(step)).unwrap();
            }
            store.set_version(number(version)).unwrap();
            if version > 0 {
                store.batch("INSERT INTO machine VALUES (1, 'kept', NULL, NULL)").unwrap();
            }
            upgrade(&mut *store).unwrap();
            assert_eq!(store.version().unwrap(), number(STEPS.len()));
            assert_eq!(definitions(&mut *store), definitions(&mut *latest), "from {version}");
            if version > 0 {
                let names = store.query("SELECT name FROM machine", &[]).unwrap();
                assert_eq!(names.len(), 1, "from {version}");
            }
        }
    }

    #[test]
    fn a_later_version_is_refused() {
        let folder = Folder::on_engine();
        let mut store = engine::open(folder.path()).unwrap();
        upgrade(&mut *store).unwrap();
        store.set_version(99).unwrap();
        let error = upgrade(&mut *store).unwrap_err().to_string();
        let expected = format!("its schema has version 99, expected at most {}", STEPS.len());
        assert!(error.contains(&expected), "{error}");
    }
}
