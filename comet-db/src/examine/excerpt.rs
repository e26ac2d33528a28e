//! Runs of a blob with the points of some kernels alone: the lines of other points are passed over unread, which
//! takes a tenth of the time.

use comet_report::read::{STARTS_OF_POINTS, parse_records};
use comet_report::runs::{RunRecords, split};

use crate::Error;

/// True if `line` is of a point, or of one of a launch.
pub(crate) fn is_point(line: &[u8]) -> bool {
    STARTS_OF_POINTS.iter().any(|start| line.starts_with(start))
}

/// The runs in `bytes`, a blob that was examined when it was added, with the points of `kernels` and maybe
/// of others.
///
/// # Errors
/// If a line is no record.
pub(crate) fn excerpt(bytes: &[u8], kernels: &[&str]) -> Result<Vec<RunRecords>, Error> {
    // Names that another program might write with escapes are looked for by nobody.
    let is_plain =
        |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-/.".contains(&b));
    let names: Vec<String> = kernels.iter().map(|name| format!("\"{name}\"")).collect();
    let are_plain = kernels.iter().all(is_plain);
    let is_read = |line: &&[u8]| {
        let has = |text: &str| names.iter().any(|name| text.contains(name.as_str()));
        !are_plain || !is_point(line) || std::str::from_utf8(line).map_or(true, has)
    };
    let kept: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').filter(is_read).collect();
    let read =
        parse_records(&kept.concat()).map_err(|error| Error::invalid(0, error.to_string()))?;
    Ok(split(read.records).into_iter().filter(|run| run.run.is_some()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examine::runs;
    use crate::fixture::{Example, file};
    use comet_report::record::Record;

    #[test]
    fn an_excerpt_has_the_points_of_its_kernels_and_all_runs() {
        let of = |number, kernel: &str| {
            let mut records = Example { number, ..Example::default() }.records();
            for record in &mut records {
                if let Record::Point(point) = record {
                    point.kernel = kernel.to_owned().into();
                }
            }
            file(&records)
        };
        let bytes = [of(0, "pingpong"), of(1, "barrier"), of(2, "é")].concat();
        let all = runs(&bytes).unwrap();
        let found = excerpt(&bytes, &["pingpong"]).unwrap();
        assert_eq!((found.len(), &found[0]), (3, &all[0]));
        assert_eq!([found[1].points.len(), found[2].points.len()], [0, 0]);
        assert_eq!(excerpt(&bytes, &["é"]).unwrap(), all, "with a name that may be escaped");
    }
}
