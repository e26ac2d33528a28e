//! Test data of one proof, and the checks that compare what arrived with it.

use std::fmt::Display;

use super::fault::Spoil;
use crate::error::KernelError;
use crate::layout::Blocks;
use crate::pattern;
use crate::transport::Rank;

/// Seeds of the test data of one series: other data for every rank and stream of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Runs between fill and check, at least 1: of all parts together where parts take turns.
    pub n_runs: u64,
    /// Number of the lane of the rank, 0 without lanes.
    pub lane: usize,
}

impl Seeds {
    /// Seed of what `sender` sends as number `stream` of its streams.
    pub fn of(self, stream: u16, sender: Rank) -> u64 {
        let lane = (self.lane as u64) << 24;
        self.n_runs << 48 ^ u64::from(stream) << 32 ^ lane ^ sender as u64
    }
}

/// Checks of one rank after the last run of an operation; holds the first mismatch.
#[derive(Debug)]
pub struct Checker {
    seeds: Seeds,
    /// Runs of the operation since its buffers were filled.
    n_runs: u64,
    /// Change of the data before each check.
    spoil: Option<Spoil>,
    /// The blocks of messages, if they have a layout.
    blocks: Option<Blocks>,
    found: Option<KernelError>,
}

impl Checker {
    /// Checks after `n_runs` runs; each check spoils its data first, if it is to.
    pub(crate) fn new(n_runs: u64, spoil: Option<Spoil>) -> Self {
        Self { seeds: Seeds { n_runs, lane: 0 }, n_runs, spoil, blocks: None, found: None }
    }

    /// The same in the lane of this number.
    pub(crate) fn in_lane(self, lane: usize) -> Self {
        Self { seeds: Seeds { lane, ..self.seeds }, ..self }
    }

    /// The same for messages of these blocks.
    pub(crate) fn of_blocks(self, blocks: Option<&Blocks>) -> Self {
        Self { blocks: blocks.cloned(), ..self }
    }

    /// The seeds with which the buffers were filled.
    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// Runs of the operation since its buffers were filled.
    pub fn n_runs(&self) -> u64 {
        self.n_runs
    }

    /// Makes `checks` of what ran `n_runs` times by itself, on data of the same seeds.
    pub(crate) fn after(&mut self, n_runs: u64, checks: impl FnOnce(&mut Self)) {
        let n_all = std::mem::replace(&mut self.n_runs, n_runs);
        checks(self);
        self.n_runs = n_all;
    }

    /// Checks that `message` is the pattern `seed`; `what` names it in the error. With a layout it has been
    /// received into a place that was spoiled with that seed, whose gaps are as they were.
    pub fn message(&mut self, message: &mut [u8], seed: u64, what: impl Display) {
        self.message_over(message, seed, |place| pattern::spoil(place, seed), what);
    }

    /// The same for a message that has been received into a place with the contents that `before` writes.
    pub fn message_over(
        &mut self,
        message: &mut [u8],
        seed: u64,
        before: impl FnOnce(&mut [u8]),
        what: impl Display,
    ) {
        let laid = self.blocks.as_ref().filter(|of| of.extent_bytes() == message.len());
        match laid.map(|blocks| blocks.arrived_over(seed, before)) {
            Some(expected) => self.bytes(message, &expected, &what.to_string()),
            None => self.whole(message, seed, what),
        }
    }

    /// Checks that `message` is the pattern `seed`, in the gaps of a layout too: that of a rank that sends.
    pub fn whole(&mut self, message: &mut [u8], seed: u64, what: impl Display) {
        if let Some(spoil) = self.spoil {
            spoil.bytes(message);
        }
        self.note(pattern::check(message, seed, what));
    }

    /// Checks length and contents of a message that fills `buffer` with the pattern `seed`;
    /// `length_bytes` is [`Status::length_from`] its source.
    ///
    /// [`Status::length_from`]: crate::transport::Status::length_from
    pub fn arrival(
        &mut self,
        length_bytes: Option<usize>,
        (buffer, seed): (&mut [u8], u64),
        what: &str,
    ) {
        self.arrival_over(length_bytes, (buffer, seed), |place| pattern::spoil(place, seed), what);
    }

    /// The same for a message that has been received into a place with the contents that `before` writes.
    pub fn arrival_over(
        &mut self,
        length_bytes: Option<usize>,
        (buffer, seed): (&mut [u8], u64),
        before: impl FnOnce(&mut [u8]),
        what: &str,
    ) {
        self.length(length_bytes, buffer.len(), what);
        self.message_over(buffer, seed, before, what);
    }

    /// Checks that a message of `n` bytes arrived last from the right source.
    pub fn length(&mut self, length_bytes: Option<usize>, n: usize, what: &str) {
        if length_bytes != Some(n) {
            let found =
                length_bytes.map_or("none from the expected rank".into(), |n| format!("{n} bytes"));
            self.note(Err(KernelError::mismatch(what, format_args!("{n} bytes"), found)));
        }
    }

    /// Checks that `bytes` are `expected`, as many; `what` names them in the error.
    pub fn bytes(&mut self, bytes: &mut [u8], expected: &[u8], what: &str) {
        if let Some(spoil) = self.spoil {
            spoil.bytes(bytes);
        }
        let differs = |(_, (found, wanted)): &(usize, (&u8, &u8))| found != wanted;
        let mut pairs = bytes.iter().zip(expected).enumerate();
        if let Some((index, (found, wanted))) = pairs.find(differs) {
            let what = format!("byte {index} of {} of {what}", bytes.len());
            let [wanted, found] = [wanted, found].map(|byte| format!("{byte:#04x}"));
            self.note(Err(KernelError::mismatch(what, wanted, found)));
        }
    }

    /// Checks that `values` are `expected`, to the last bit; `what` names them in the error.
    /// The last of the values that the operation `wrote` is the one that a wrong bit spoils on purpose.
    pub fn values(
        &mut self,
        values: &mut [f64],
        expected: impl Fn(usize) -> f64,
        wrote: impl Fn(usize) -> bool,
        what: &str,
    ) {
        if let Some(spoil) = self.spoil {
            spoil.values(values, wrote);
        }
        let differs =
            |(index, value): &(usize, &f64)| value.to_bits() != expected(*index).to_bits();
        if let Some((index, value)) = values.iter().enumerate().find(differs) {
            let what = format!("element {index} of {} of {what}", values.len());
            self.note(Err(KernelError::mismatch(what, expected(index), value)));
        }
    }

    fn note(&mut self, result: Result<(), KernelError>) {
        if let (None, Err(error)) = (&self.found, result) {
            self.found = Some(error);
        }
    }

    /// Ends the check.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn result(self) -> Result<(), KernelError> {
        self.found.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Element;
    use crate::layout::Layouts;
    use std::sync::Arc;

    #[test]
    fn each_stream_sender_and_number_of_runs_has_its_own_seed() {
        let in_lane = |lane, n_runs, stream, sender| Seeds { n_runs, lane }.of(stream, sender);
        let of = |n_runs, stream, sender| in_lane(0, n_runs, stream, sender);
        assert_ne!(of(1, 1, 0), in_lane(1, 1, 1, 0));
        assert_ne!(of(1, 1, 1), in_lane(1, 1, 1, 0));
        assert_ne!(of(1, 1, 2), of(1, 2, 1));
        assert_ne!(of(1, 1, 0), of(1, 1, 1));
        assert_ne!(of(1, 1, 0), of(2, 1, 0));
    }

    #[test]
    fn a_spoiled_value_is_the_last_that_the_operation_wrote() {
        let mut checker = Checker::new(1, Some(Spoil::Bit));
        checker.values(&mut [1.0, 2.0, 3.0], |index| [1.0, 2.0, 3.0][index], |i| i == 1, "x");
        let text = checker.result().unwrap_err().to_string();
        assert_eq!(text, "element 1 of 3 of x: expected 2, found 3");
    }

    #[test]
    fn bytes_between_the_blocks_of_a_layout_may_not_change() {
        let layouts = Arc::new(Layouts::both("vector:2:4".parse().unwrap()));
        let blocks = layouts.of(8, Element::U8);
        let result = |spoil: Option<usize>, length: usize| {
            let mut checker = Checker::new(1, None).of_blocks(Some(&blocks));
            let mut message = blocks.arrived(7)[..length].to_vec();
            spoil.into_iter().for_each(|index| message[index] ^= 1);
            checker.message(&mut message, 7, "it");
            checker.result().map_err(|error| error.to_string())
        };
        assert_eq!(result(None, 14), Ok(()));
        for index in 0..14 {
            let error = result(Some(index), 14).unwrap_err();
            assert!(error.starts_with(&format!("byte {index} of 14 of it: expected ")), "{error}");
        }
        // Those of another length have no gaps, and what a rank sends is as it was filled.
        assert!(result(None, 13).unwrap_err().starts_with("byte 2 of 13 of it: "));
        assert_eq!(result(None, 2), Ok(()));
        let mut checker = Checker::new(1, None).of_blocks(Some(&blocks));
        let mut message = [0; 14];
        pattern::fill(&mut message, 7);
        checker.whole(&mut message, 7, "it");
        assert!(checker.result().is_ok());
    }

    #[test]
    fn the_first_mismatch_is_kept() {
        let mut checker = Checker::new(1, None);
        checker.length(None, 8, "the first");
        checker.message(&mut [0], 7, "the second");
        let text = checker.result().unwrap_err().to_string();
        assert_eq!(text, "the first: expected 8 bytes, found none from the expected rank");
    }
}
