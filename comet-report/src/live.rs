//! The listener that shows each case as soon as it is measured.

use std::error::Error;
use std::io::{self, Write};

use comet_core::event::{Event, Listener};
use comet_core::topology::Topology;

use crate::environment::moved;
use crate::format::TableWriter;
use crate::models::Follow;
use crate::points::{PointMaker, seconds};
use crate::record::{Model, Point, PointCounts};
use crate::recorder::{clock, reason};

/// Writes the rows of [`Table`](crate::format::Table) while the run goes on.
#[derive(Debug)]
pub struct LiveTable<W> {
    table: TableWriter<W>,
    points: PointMaker,
    counts: PointCounts,
    models: Follow,
}

impl<W: Write> LiveTable<W> {
    /// Rows of a run over `topology`, into `out`.
    #[must_use]
    pub fn new(out: W, topology: &Topology) -> Self {
        let (table, points) = (TableWriter::new(out), PointMaker::new("", topology));
        Self { table, points, counts: PointCounts::default(), models: Follow::default() }
    }

    fn show(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::RunStarted(start) => {
                self.points.start(start);
                self.table.ranks(start.n_ranks, &clock(start, None), start.line_ns)?;
            }
            Event::CaseStarted(_) | Event::PassStarted(_) => return Ok(()),
            Event::CaseFinished(measurement) => {
                let points = self.points.measured(measurement);
                self.case(points)?;
            }
            Event::CaseFailed(failure) => {
                let point = self.points.failed(failure);
                self.case(vec![point])?;
            }
            Event::CoresMoved(cores) => {
                let t_rel_s = seconds(cores.since_start_ns);
                self.table.event(&moved(cores).to_event("", t_rel_s))?;
            }
            Event::RunFinished(end) => {
                let models = self.models.finish();
                self.show_models(&models)?;
                let reason = end.stop.as_ref().map(reason);
                self.table.done(&self.counts, Some(seconds(end.wall_ns)), reason.as_deref())?;
            }
        }
        self.table.flush()
    }

    fn case(&mut self, points: Vec<Point>) -> io::Result<()> {
        let models = points.first().map_or_else(Vec::new, |first| self.models.before(first));
        self.show_models(&models)?;
        self.table.case(&points.iter().collect::<Vec<_>>())?;
        for point in points {
            self.counts.add(point.status);
            self.models.add(point);
        }
        Ok(())
    }

    fn show_models(&mut self, models: &[Model]) -> io::Result<()> {
        models.iter().try_for_each(|model| self.table.model(model))
    }
}

impl<W: Write> Listener for LiveTable<W> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.show(event)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::format::find;
    use crate::read::read_records;
    use crate::record::{self, Record};

    #[test]
    fn a_running_kernel_and_its_file_look_the_same() {
        let mut live = Vec::new();
        let mut table = LiveTable::new(&mut live, &fixture::topology());
        fixture::tell(&mut table);
        let folder = Folder::new();
        let mut records = read_records(&fixture::record_run(&folder)).unwrap().records;
        let is_of_machine = |event: &record::Event| event.code != "cores_moved";
        records.retain(|r| !matches!(r, Record::Event(event) if is_of_machine(event)));
        let mut filed = Vec::new();
        find("table").unwrap().write(&records, &mut filed).unwrap();
        let filed = String::from_utf8(filed).unwrap();
        let (_, without_run) = filed.split_once('\n').unwrap();
        assert_eq!(String::from_utf8(live).unwrap(), without_run);
    }

    #[test]
    fn a_row_is_there_before_the_next_case_starts() {
        let mut live = Vec::new();
        let mut table = LiveTable::new(&mut live, &fixture::topology());
        table.event(&Event::CaseFinished(&fixture::echo(8))).unwrap();
        let text = String::from_utf8(live).unwrap();
        assert!(text.ends_with('\n') && text.contains("comet/echo, 2 ranks"), "{text}");
    }
}
