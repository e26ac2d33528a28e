//! Outcome of a case, and its wire form: one line with the fields of all kinds of points.

use std::sync::Arc;

use comet_core::kernel::RateKind;
use serde::de::{self, Deserializer};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    Check, Derived, Launches, NamedRate, Params, Plan, Point, PointStatus, Quality, RanksNs, Rate,
    Reps, Samples, Summary, Text, Value,
};

/// Outcome of a case: numbers, or the reason why there are none.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Numbers of a measurement.
    Measured(Box<Measured>),
    /// Numbers from the text of another program.
    Imported(Box<Numbers>),
    /// No numbers.
    Failed(Failure),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Failed(Failure::default())
    }
}

/// Numbers of one series, as in every record.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Meaning of the number.
    pub value: Value,
    /// Summary over the samples, for one operation; of an import, over its one number.
    pub time_ns: Summary,
    /// The figure to quote, for one operation, if there is one. Since minor version 2.
    pub quoted_ns: Option<f64>,
    /// The most by which the printed digits of an import may be beside that. Since minor version 13.
    pub rounding_ns: Option<f64>,
    /// Rates, where the series moves bytes.
    pub rate: Option<Rate>,
    /// Rates beside that, each with its formula. Since minor version 11.
    pub rates: Vec<NamedRate>,
}

/// Measurement of one series, whose data was right.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The numbers.
    pub numbers: Numbers,
    /// Plan of the measurement.
    pub plan: Plan,
    /// Numbers of samples and operations.
    pub reps: Reps,
    /// Quality of the numbers. Since minor version 2.
    pub quality: Option<Quality>,
    /// Medians of the ranks, where several ranks sampled.
    pub ranks_ns: Option<RanksNs>,
    /// Every interval; `None` once stripped, as the three lists below.
    pub samples: Option<Samples>,
    /// Starts of the samples.
    pub starts_ns: Option<Vec<u64>>,
    /// Delays of the samples in their windows. Since minor version 2.
    pub late_ns: Option<Vec<u64>>,
    /// Times of the loop without the operation. Since minor version 2.
    pub reference_ns: Option<Vec<u64>>,
}

/// Reason why a case has no numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// Status of the point: any but [`PointStatus::Ok`].
    pub status: PointStatus,
    /// One sentence.
    pub message: String,
}

impl Point {
    /// Status of the point.
    pub fn status(&self) -> PointStatus {
        self.failure().map_or(PointStatus::Ok, |failure| failure.status)
    }

    /// The reason why there are no numbers, where there are none.
    pub fn failure(&self) -> Option<&Failure> {
        if let Outcome::Failed(failure) = &self.outcome { Some(failure) } else { None }
    }

    /// The measurement, if the point is no import.
    pub fn measured(&self) -> Option<&Measured> {
        if let Outcome::Measured(measured) = &self.outcome { Some(measured) } else { None }
    }

    /// The measurement, to be changed.
    pub(crate) fn measured_mut(&mut self) -> Option<&mut Measured> {
        if let Outcome::Measured(measured) = &mut self.outcome { Some(measured) } else { None }
    }

    /// The numbers, where there are any.
    pub fn numbers(&self) -> Option<&Numbers> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(&measured.numbers),
            Outcome::Imported(numbers) => Some(numbers),
            Outcome::Failed(_) => None,
        }
    }

    /// Meaning of the number.
    pub(crate) fn value(&self) -> Option<&Value> {
        Some(&self.numbers()?.value)
    }

    /// Summary over the samples.
    pub(crate) fn time_ns(&self) -> Option<&Summary> {
        Some(&self.numbers()?.time_ns)
    }

    /// The figure to quote.
    pub(crate) fn quoted_ns(&self) -> Option<f64> {
        self.numbers()?.quoted_ns
    }

    /// The 95 % interval of the figure to quote: of any from launch to launch, within a launch of
    /// those that are medians over the slices.
    pub fn interval_ns(&self) -> Option<[f64; 2]> {
        if self.launches.is_some() {
            let interval = self.quality()?.interval_ns.as_ref()?;
            return Some([interval.low, interval.high]);
        }
        let Numbers { value, time_ns, .. } = self.numbers()?;
        time_ns.ci95.filter(|_| value.quote.is_of_slices())
    }

    /// The rate, where the series moves bytes.
    pub(crate) fn bytes_per_s(&self) -> Option<f64> {
        Some(self.numbers()?.rate.as_ref()?.bytes_per_s)
    }

    /// The rates beside that.
    pub(crate) fn rates(&self) -> &[NamedRate] {
        self.numbers().map_or(&[], |numbers| &numbers.rates)
    }

    /// The rate of `kind` beside that.
    pub(crate) fn rate(&self, kind: RateKind) -> Option<&NamedRate> {
        self.rates().iter().find(|rate| rate.name == kind.name())
    }

    /// Quality of the numbers.
    pub(crate) fn quality(&self) -> Option<&Quality> {
        self.measured()?.quality.as_ref()
    }

    /// The point without its samples and their starts, which take more memory than all the rest.
    pub(crate) fn without_samples(&self) -> Self {
        let mut point = self.clone();
        if let Outcome::Measured(measured) = &mut point.outcome {
            (measured.samples, measured.starts_ns) = (None, None);
            (measured.late_ns, measured.reference_ns) = (None, None);
        }
        point
    }
}

/// Wire form of a point: the fields of every one, which [`Point`] describes, and those of all outcomes, `null` in
/// points of the others. It is flat, because serde keeps all of an object that is flattened in memory first.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Line {
    #[cfg_attr(test, schemars(skip))]
    run_id: String,
    #[cfg_attr(test, schemars(skip))]
    seq: u64,
    #[cfg_attr(test, schemars(skip))]
    t_rel_s: f64,
    #[cfg_attr(test, schemars(skip))]
    suite: Text,
    #[cfg_attr(test, schemars(skip))]
    kernel: Text,
    #[cfg_attr(test, schemars(skip))]
    variant: Option<Text>,
    #[cfg_attr(test, schemars(skip))]
    class: Text,
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    aliases: Vec<Text>,
    #[cfg_attr(test, schemars(skip))]
    params: Params,
    #[cfg_attr(test, schemars(skip))]
    key: String,
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    launch: Option<u32>,
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    launches: Option<Launches>,
    #[cfg_attr(test, schemars(skip))]
    check: Check,
    #[serde(default)]
    #[cfg_attr(test, schemars(skip))]
    figures: Vec<Derived>,
    /// Meaning of the number.
    value: Option<Value>,
    /// Plan of the measurement.
    plan: Option<Plan>,
    /// Numbers of samples and operations.
    reps: Option<Reps>,
    /// Summary over the samples, for one operation, by the definition.
    time_ns: Option<Summary>,
    /// The figure to quote, for one operation, if there is one. Since minor version 2.
    quoted_ns: Option<f64>,
    /// The most by which the printed digits of an import may be beside that. Since minor version 13.
    #[serde(default)]
    rounding_ns: Option<f64>,
    /// Quality of the numbers. Since minor version 2.
    quality: Option<Quality>,
    /// Medians of the ranks, for one operation, where several ranks sampled.
    ranks_ns: Option<RanksNs>,
    /// Rates, where the series moves bytes.
    rate: Option<Rate>,
    /// Rates beside that, each with its formula; none in points of series that have no others. Since
    /// minor version 11.
    #[serde(default)]
    rates: Vec<NamedRate>,
    /// Every interval that was measured.
    samples: Option<Samples>,
    /// Start of each sample after the earliest one of the point, in the layout of `samples`.
    starts_ns: Option<Vec<u64>>,
    /// Delay of each sample in its window, in the layout of `samples`. Since minor version 2.
    late_ns: Option<Vec<u64>>,
    /// Times of the loop without the operation (D8), likewise. Since minor version 2.
    reference_ns: Option<Vec<u64>>,
    /// Status of the point.
    status: PointStatus,
    /// One sentence that says why there are no numbers.
    message: Option<String>,
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Line::deserialize(deserializer)?.point().map_err(de::Error::custom)
    }
}

impl Line {
    fn point(mut self) -> Result<Point, String> {
        let outcome = self.take_outcome()?;
        Ok(Point {
            run_id: self.run_id,
            seq: self.seq,
            t_rel_s: self.t_rel_s,
            suite: self.suite,
            kernel: self.kernel,
            variant: self.variant,
            class: self.class,
            aliases: self.aliases,
            params: self.params,
            key: self.key,
            launch: self.launch,
            launches: self.launches,
            check: self.check,
            figures: self.figures,
            outcome,
            facts: Arc::default(),
        })
    }

    /// The numbers, or the reason why there are none.
    fn take_outcome(&mut self) -> Result<Outcome, String> {
        let line = self;
        if line.status != PointStatus::Ok {
            let message = line.message.take().unwrap_or_else(|| "no reason is known".into());
            return Ok(Outcome::Failed(Failure { status: line.status, message }));
        }
        // An import of a rate without a length, as older minor versions have it.
        if line.time_ns.is_none() && line.plan.is_none() && line.rate.is_some() {
            let message = "no time is known".into();
            return Ok(Outcome::Failed(Failure { status: PointStatus::Failed, message }));
        }
        let lacks =
            |name| move || format!("`{name}` of a point that is ok is null, expected an object");
        let numbers = Numbers {
            value: line.value.take().ok_or_else(lacks("value"))?,
            time_ns: line.time_ns.take().ok_or_else(lacks("time_ns"))?,
            quoted_ns: line.quoted_ns,
            rounding_ns: line.rounding_ns,
            rate: line.rate.take(),
            rates: std::mem::take(&mut line.rates),
        };
        if line.plan.is_none() && line.reps.is_none() && line.samples.is_none() {
            return Ok(Outcome::Imported(Box::new(numbers)));
        }
        Ok(Outcome::Measured(Box::new(Measured {
            numbers,
            plan: line.plan.take().ok_or_else(lacks("plan"))?,
            reps: line.reps.take().ok_or_else(lacks("reps"))?,
            quality: line.quality.take(),
            ranks_ns: line.ranks_ns.take(),
            samples: line.samples.take(),
            starts_ns: line.starts_ns.take(),
            late_ns: line.late_ns.take(),
            reference_ns: line.reference_ns.take(),
        })))
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (numbers, measured) = (self.numbers(), self.measured());
        let mut line = serializer.serialize_struct("Point", 30)?;
        line.serialize_field("run_id", &self.run_id)?;
        line.serialize_field("seq", &self.seq)?;
        line.serialize_field("t_rel_s", &self.t_rel_s)?;
        line.serialize_field("suite", &self.suite)?;
        line.serialize_field("kernel", &self.kernel)?;
        line.serialize_field("variant", &self.variant)?;
        line.serialize_field("class", &self.class)?;
        line.serialize_field("aliases", &self.aliases)?;
        line.serialize_field("params", &self.params)?;
        line.serialize_field("key", &self.key)?;
        if self.launch.is_some() {
            line.serialize_field("launch", &self.launch)?;
        }
        if self.launches.is_some() {
            line.serialize_field("launches", &self.launches)?;
        }
        line.serialize_field("value", &self.value())?;
        line.serialize_field("plan", &measured.map(|of| &of.plan))?;
        line.serialize_field("reps", &measured.map(|of| &of.reps))?;
        line.serialize_field("time_ns", &self.time_ns())?;
        line.serialize_field("quoted_ns", &self.quoted_ns())?;
        if let Some(rounding_ns) = numbers.and_then(|of| of.rounding_ns) {
            line.serialize_field("rounding_ns", &rounding_ns)?;
        }
        line.serialize_field("quality", &self.quality())?;
        line.serialize_field("ranks_ns", &measured.map(|of| &of.ranks_ns))?;
        line.serialize_field("rate", &numbers.map(|of| &of.rate))?;
        if !self.rates().is_empty() {
            line.serialize_field("rates", self.rates())?;
        }
        line.serialize_field("samples", &measured.map(|of| &of.samples))?;
        line.serialize_field("starts_ns", &measured.map(|of| &of.starts_ns))?;
        line.serialize_field("late_ns", &measured.map(|of| &of.late_ns))?;
        line.serialize_field("reference_ns", &measured.map(|of| &of.reference_ns))?;
        line.serialize_field("check", &self.check)?;
        if !self.figures.is_empty() {
            line.serialize_field("figures", &self.figures)?;
        }
        line.serialize_field("status", &self.status())?;
        line.serialize_field("message", &self.failure().map(|failure| &failure.message))?;
        line.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::read::parse_records;
    use crate::record::{Point, Record};
    use serde_json::{Value, json};

    #[test]
    fn a_point_is_refused_that_is_ok_and_lacks_numbers() {
        let records = fixture::records();
        let first = fixture::points(&records).find(|point| point.measured().is_some()).unwrap();
        let without = |names: &[&str]| {
            let mut line = json!(Record::Point(Box::new(first.clone())));
            names.iter().for_each(|name| line[name] = Value::Null);
            parse_records(format!("{line}\n").as_bytes())
        };
        let is_measured = |names| match &without(names).unwrap().records[0] {
            Record::Point(point) => point.measured().is_some(),
            _ => unreachable!(),
        };
        assert!(is_measured(&["quality", "quoted_ns", "samples", "starts_ns"]), "an older one");
        assert!(!is_measured(&["plan", "reps", "samples"]), "an import");
        for name in ["value", "plan", "reps", "time_ns"] {
            let error = without(&[name]).unwrap_err().to_string();
            let expected = "of a point that is ok is null, expected an object (is this a file that";
            assert_eq!(error, format!("line 1: `{name}` {expected} comet-run wrote?)"));
        }
    }

    #[test]
    fn rates_stand_in_a_point_with_amounts_and_formulas_and_older_points_have_none() {
        let points = fixture::collectives("allgather", 4);
        let line = json!(points[1]);
        assert_eq!(
            line["rates"],
            json!([
                {
                    "name": "algorithm_bytes_per_s",
                    "formula": "P x length_bytes / time",
                    "per_op": 4000.0,
                    "value": 4e9,
                },
                {
                    "name": "bus_bytes_per_s",
                    "formula": "(P-1)/P x P x length_bytes / time",
                    "per_op": 3000.0,
                    "value": 3e9,
                },
            ])
        );
        assert_eq!(json!(points[0])["rates"][1]["value"], Value::Null, "no bytes have no rate");
        let read = |line: Value| -> Point { serde_json::from_value(line).unwrap() };
        assert_eq!(read(line.clone()).rates(), points[1].rates());
        let mut older = line;
        assert!(older.as_object_mut().unwrap().remove("rates").is_some());
        assert_eq!(read(older.clone()).rates(), []);
        assert!(json!(read(older)).get("rates").is_none(), "the field is absent, not empty");
    }
}
