//! Result files as tests look at them: the lines as plain JSON, so that the names on disk are
//! tested too.

use std::collections::BTreeSet;

use serde_json::Value;

/// The records of one file.
#[derive(Debug)]
pub(crate) struct Records(Vec<Value>);

impl Records {
    /// Reads the text of a file in which every line is whole.
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

    /// Records of one type, in the order of the file.
    pub(crate) fn of_type<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |record| record["type"] == name)
    }

    /// The points, in the order of the file.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Value> {
        self.of_type("point")
    }

    /// The points of the kernel `id`.
    pub(crate) fn points_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Value> {
        self.points().filter(move |point| kernel_id(point) == id)
    }

    /// Ids of the kernels that have points.
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
