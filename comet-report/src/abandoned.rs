//! The end of the file of a run whose ranks died.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::format::write_line;
use crate::glance::glance;
use crate::launches::merged;
use crate::odd::odd;
use crate::read::{ReadError, parse_lines};
use crate::record::{End, EndStatus, Event, Level, Point, Record, timestamp};
use crate::runs::{RunRecords, split};
use crate::verdict::Tally;

/// Facts about a run that died, as the launcher knows them.
#[derive(Clone, Debug)]
pub struct Death {
    /// The failure in one word that programs can look for (`rank_died`, `time_out`).
    pub code: String,
    /// One sentence about it.
    pub message: String,
    /// The rank that died first, where known.
    pub rank: Option<usize>,
    /// Reason for the `end` record (`error`, `signal`).
    pub reason: String,
    /// The wall clock when the launcher noticed.
    pub noticed_at: SystemTime,
}

/// A file that could not be closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// The system refused.
    #[error("cannot close the results in {} (is there space left, and may you write there?)", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is no result file.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Ends the last run in `file`, open for reading and appending: cuts off a partial line, then adds
/// an error `event` and a failed `end` with the counts. Errors name the file by its `path`.
///
/// A file without a record stays empty; one whose last run has its `end` stays as it is.
///
/// # Errors
/// If the file cannot be read or written, or holds something else.
pub fn close_abandoned(mut file: &File, path: &Path, death: &Death) -> Result<(), CloseError> {
    let io_error = |source| CloseError::Io { path: path.into(), source };
    let whole = cut_partial_line(file).map_err(io_error)?;
    let records = parse_lines(&whole).map_err(|error| error.of_file(path))?.records;
    // Behind the step that begins a unit, the run before it is another's.
    let is_before_run = matches!(records.last(), Some(Record::Unit(_)));
    let last = split(records).pop().filter(|run| run.end.is_none() && !is_before_run);
    let Some(mut run) = last else { return Ok(()) };
    // The launches so far make points, unless the run was about to write them itself.
    let is_new = |point: &Point| run.points.iter().all(|other| other.key != point.key);
    let new: Vec<Point> =
        merged(run.run.as_deref(), &run.launches).into_iter().filter(is_new).collect();
    let new = new.into_iter().map(|point| point.without_samples());
    let first = run.points.len();
    run.points.extend(new);
    let points = run.points[first..].iter().map(|point| Record::Point(Box::new(point.clone())));
    for record in points.chain(last_words(&run, death)) {
        write_line(&mut file, &record).map_err(io_error)?;
    }
    Ok(())
}

/// The whole lines of `file`, and the partial one behind them.
pub(crate) fn lines_of(mut file: &File) -> io::Result<[Vec<u8>; 2]> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let partial = text.split_off(end);
    Ok([text, partial])
}

/// Cuts `file` back to its last newline; returns the bytes that are left.
fn cut_partial_line(file: &File) -> io::Result<Vec<u8>> {
    let [text, partial] = lines_of(file)?;
    if !partial.is_empty() {
        file.set_len(text.len() as u64)?;
    }
    Ok(text)
}

fn last_words(run: &RunRecords, death: &Death) -> [Record; 2] {
    let tally = Tally::over(run.run.as_deref(), &run.points);
    let facts = run.run.as_ref();
    let run_id = facts.map(|facts| facts.run_id.clone());
    let wall_s = facts.and_then(|facts| seconds_since(&facts.started_at, death.noticed_at));
    let event = Event {
        run_id: run_id.clone(),
        t_rel_s: wall_s,
        level: Level::Error,
        code: death.code.clone(),
        rank: death.rank,
        message: death.message.clone(),
        hint: None,
    };
    let end = End {
        run_id,
        status: EndStatus::Failed,
        ended_at: timestamp(death.noticed_at),
        points: tally.counts,
        wall_s,
        virtual_s: None,
        reason: Some(death.reason.clone()),
        noise: None,
        verdict: tally.verdict(EndStatus::Failed, Some(&death.reason)),
        glance: glance(run.run.as_deref(), &run.points),
        odd: odd(run.run.as_deref(), &run.points),
    };
    [Record::Event(event), Record::End(Box::new(end))]
}

fn seconds_since(started_at: &str, now: SystemTime) -> Option<f64> {
    let started_at = humantime::parse_rfc3339(started_at).ok()?;
    Some(now.duration_since(started_at).ok()?.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::{read_records, validate};
    use std::time::Duration;

    fn death() -> Death {
        Death {
            code: "rank_died".into(),
            message: "rank 1 was ended by signal 9".into(),
            rank: Some(1),
            reason: "error".into(),
            noticed_at: fixture::started_at() + Duration::from_secs(5),
        }
    }

    fn close(path: &Path) {
        let file = File::options().read(true).append(true).open(path).unwrap();
        close_abandoned(&file, path, &death()).unwrap();
    }

    fn last(path: &Path) -> End {
        match read_records(path).unwrap().records.pop() {
            Some(Record::End(end)) => *end,
            other => panic!("no end but {other:?}"),
        }
    }

    #[test]
    fn a_partial_line_is_cut_off_and_the_points_before_it_are_counted() {
        let folder = Folder::new();
        let path = fixture::record_run(&folder);
        let text = std::fs::read_to_string(&path).unwrap();
        let points = text.match_indices("{\"type\":\"point\"").nth(3).unwrap().0;
        std::fs::write(&path, &text[..points + 40]).unwrap();
        close(&path);
        let end = last(&path);
        assert_eq!((end.status, end.points.total()), (EndStatus::Failed, 3));
        assert_eq!((end.wall_s, end.reason.as_deref()), (Some(5.0), Some("error")));
        let validation = validate(&path).unwrap();
        assert_eq!(validation.problems, []);
        assert_eq!(validation.runs[0].ending(), "failed");
        let records = read_records(&path).unwrap().records;
        let table = fixture::render("table", &records);
        let last = "the run failed: 2 ok, 1 skipped, 0 wrong results, 0 errors, 5.0 s\n\
                    unsure: 2 of 2 points without an interval; an early end (error); a single launch, \
                    from which others differ; start the ranks several times: --launches 5\n";
        assert!(table.ends_with(last), "{table}");
        let junit = fixture::render("junit", &records);
        let error = "<error message=\"failed: error: rank 1 was ended by signal 9\"";
        assert!(junit.contains(error), "{junit}");
    }

    #[test]
    fn a_file_without_a_whole_record_is_empty_and_one_with_an_end_stays_as_it_is() {
        let folder = Folder::new();
        let whole = std::fs::read_to_string(fixture::record_run(&folder)).unwrap();
        for (text, expected) in [("", ""), ("{\"type\":\"ru", ""), (&whole, &*whole)] {
            let path = folder.write("file.jsonl", text);
            close(&path);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        }
    }
}
