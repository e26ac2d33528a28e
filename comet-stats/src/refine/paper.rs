//! The rule of the SKaMPI paper (section 4.2 and figure 1): divide where the lines through
//! neighbouring sizes predict worst.
//!
//! The code of SKaMPI 5 does something else: it weights the absolute errors by the width of the
//! segment, divides at the arithmetic mean, and ends at twice the points of the start.

use super::curve::{Curve, Segment, on_line};

/// The key of a segment that is to be divided; `None` if it is good enough.
pub(super) fn wants(segment: &Segment, curve: &Curve<'_>) -> Option<f64> {
    let key = key(segment);
    (key >= curve.limits.eps).then_some(key)
}

/// The estimated relative error of not dividing a segment: the least of the two errors that lines
/// through its neighbours make in predicting its ends, and of its width, for which a jump is never
/// cornered more closely than the errors elsewhere.
pub(super) fn key(segment: &Segment) -> f64 {
    let Segment { a, b, c, d } = segment;
    let of_c = a.map(|a| (c.time_ns - on_line(&a, b, c.size)).abs() / c.time_ns);
    let of_b = d.map(|d| (b.time_ns - on_line(c, &d, b.size)).abs() / b.time_ns);
    [of_c, of_b].into_iter().flatten().fold(segment.relative_width(), f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Reading, Refiner, Rule, Step};
    use crate::real;

    /// Invented curve in ns: flat to 64 bytes, 1/4 a byte to 512, a jump, 1/2 a byte from 2048.
    fn four_pieces_ns(size: u64) -> f64 {
        match size {
            0..=64 => 100.0,
            65..=512 => 84.0 + real(size) / 4.0,
            513..=2048 => 400.0 + real(size) / 4.0,
            _ => real(size) / 2.0 - 112.0,
        }
    }

    /// The sizes that the paper's rule measures from `start` on.
    fn sequence(start: &[u64], limits: Limits) -> Vec<u64> {
        let reading = |size| {
            let time_ns = four_pieces_ns(size);
            Reading { size, time_ns, half_width_ns: None, n_slices: 1 }
        };
        let mut refiner = Refiner::new(Rule::Paper, limits);
        let mut readings: Vec<Reading> = start.iter().copied().map(reading).collect();
        while let Step::Measure(size) = refiner.next(&readings) {
            readings.push(reading(size));
        }
        readings.iter().map(|reading| reading.size).collect()
    }

    /// SK-51, SK-52 and SK-54: errors by both neighbours or the one there is, and the worst segment halved.
    #[test]
    fn twelve_sizes_follow_as_worked_by_hand() {
        // Of the segment b..c: key = min(|D2|/t_c, |D1|/t_b, width/m_b), with D2 from the line
        // through a, b and D1 from that through c, d.
        //
        // Times at 16, 64, 256, 1024, 4096 are 100, 100, 148, 656, 1936.
        //   16..64:     -, 12/100, 3            = 0.12    (256..64 slopes 1/4: 88 at 16)
        //   64..256:    48/148, 79/100, 3       = 0.324
        //   256..1024:  316/656, 188/148, 3     = 0.482   largest: 512, 212 ns
        //   1024..4096: 752/1936, -, 3          = 0.388
        // 64..256 and 256..512 lie on one line: 0. 512..1024: 316/656 = 0.482.
        //   1024..4096: 1384/1936, -, 3         = 0.715   largest: 2048, 912 ns
        // 1024..2048: 356/656 by 2048..4096     = 0.390;  2048..4096: 512/1936 = 0.264.
        //   512..1024:  316/656, 316/212, 1     = 0.482   largest: 724, 581 ns
        // 724..1024..2048 lie on one line: 0 for both.
        //   512..724:   316/581, 316/212, 0.414 = 0.414   largest: 609, 552.25 ns
        //   512..609:   the width, 97/512       = 0.189
        //   2048..4096: 512/1936                = 0.264   largest: 2896, 1336 ns
        // 2048..2896: 212/1336 = 0.159, but 0 by the line through 2896, 4096.
        //   512..609:                           = 0.189   largest: 558, 539.5 ns
        //   512..558:   the width, 46/512       = 0.090
        //   16..64:                             = 0.12    largest: 32, 100 ns
        let limits = Limits { max_points: 12, ..Limits::default() };
        let expected = [16, 64, 256, 1024, 4096, 512, 2048, 724, 609, 2896, 558, 32];
        assert_eq!(sequence(&expected[..5], limits), expected);
    }

    /// SK-51 and SK-53: the width of a segment bounds its error, and the worst one ends the search.
    #[test]
    fn a_jump_is_cornered_to_the_relative_width_of_eps_and_no_more() {
        let limits = Limits { eps: 0.1, ..Limits::default() };
        let sizes = sequence(&[16, 64, 256, 1024, 4096], limits);
        // Of 512..558, the width is 9 %.
        assert_eq!(sizes[5..], [512, 2048, 724, 609, 2896, 558, 32]);
    }
}
