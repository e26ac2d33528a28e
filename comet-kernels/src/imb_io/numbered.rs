//! Contents of files that tell where they lie, for blocks that any rank may read.
//!
//! Each unit of 4 bytes holds its number, in digits of base 255 from the lowest on, each with 1 added: no byte
//! is 0, so that a block which was cleared and never read holds nothing of a file.

/// Bytes of a unit, of which portions are multiples.
const UNIT: usize = 4;
pub(super) const UNIT_BYTES: u64 = UNIT as u64;

const BASE: u64 = 255;

/// Bytes after which the contents come again.
const PERIOD_BYTES: u64 = BASE.pow(4) * UNIT_BYTES;

/// Gives `block` the contents of a file from its byte `at` on.
pub(super) fn fill(block: &mut [u8], at: u64) {
    (at..).zip(block).for_each(|(at, byte)| *byte = byte_at(at));
}

/// The byte at `at` of a file.
fn byte_at(at: u64) -> u8 {
    let weight = match at % UNIT_BYTES {
        0 => 1,
        1 => BASE,
        2 => BASE.pow(2),
        _ => BASE.pow(3),
    };
    u8::try_from(at / UNIT_BYTES / weight % BASE + 1).unwrap_or(0)
}

/// The number that a unit holds.
fn number_of(unit: [u8; UNIT]) -> Option<u64> {
    let mut digits = unit.iter().rev();
    digits.try_fold(0, |number, byte| Some(number * BASE + u64::from(byte.checked_sub(1)?)))
}

/// The places in a file of `file_bytes` bytes at which `block` may lie, where its portions add up to `total`
/// bytes; `None` where the block is too short, or the file too long, to tell.
pub(super) fn places_of(block: &[u8], total: u64, file_bytes: u64) -> Option<Vec<u64>> {
    // Portions are whole units, but for the last one.
    let phases = match (total.is_multiple_of(UNIT_BYTES), block.len() / UNIT) {
        _ if file_bytes > PERIOD_BYTES => return None,
        (true, 1..) => 0..1,
        (false, 2..) => 0..UNIT,
        _ => return None,
    };
    let place = |phase: usize| {
        let number = number_of(*block[phase..].first_chunk()?)?;
        let at = (number * UNIT_BYTES).checked_sub(phase as u64)?;
        let is_there = at + block.len() as u64 <= file_bytes
            && (at..).zip(block).all(|(at, byte)| *byte == byte_at(at));
        is_there.then_some(at)
    };
    Some(phases.filter_map(place).collect())
}

/// Expected contents of `block`: those of the first of its places, those of the start of the file where
/// it has none, and any of a file where nothing tells.
pub(super) fn expected_of(block: &[u8], total: u64, file_bytes: u64) -> Vec<u8> {
    let mut expected = block.to_vec();
    match places_of(block, total, file_bytes) {
        Some(places) => fill(&mut expected, places.first().copied().unwrap_or(0)),
        None => expected.iter_mut().for_each(|byte| *byte = (*byte).max(1)),
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(at: u64, n: usize) -> Vec<u8> {
        let mut block = vec![0; n];
        fill(&mut block, at);
        block
    }

    #[test]
    fn a_block_tells_where_it_lies() {
        for at in [0, 4, 1016, 1020, 4 * 255 * 255, PERIOD_BYTES - 16] {
            assert_eq!(places_of(&block(at, 4), 12, PERIOD_BYTES), Some(vec![at]));
        }
        for at in [0, 1, 9, 1019, 1021, 4 * 255 * 255 + 3] {
            assert_eq!(places_of(&block(at, 8), 17, PERIOD_BYTES), Some(vec![at]), "{at}");
        }
    }

    #[test]
    fn what_is_no_block_of_the_file_has_no_place() {
        for n in [4, 5, 4096] {
            assert_eq!(places_of(&vec![0; n], 4096, 1 << 20), Some(vec![]));
            // Behind the end, and between the units.
            assert_eq!(places_of(&block(4096, n), 4096, 4096), Some(vec![]));
        }
        assert_eq!(places_of(&block(5, 64), 4096, 1 << 20), Some(vec![]));
        let mut wrong = block(64, 64);
        wrong[63] ^= 1;
        assert_eq!(places_of(&wrong, 64, 4096), Some(vec![]));
        assert_ne!(expected_of(&wrong, 64, 4096), wrong);
        // A byte does not tell, and yet was read.
        assert_eq!(places_of(&block(16, 1), 17, 1 << 20), None);
        assert_eq!(expected_of(&block(16, 1), 17, 1 << 20), block(16, 1));
        assert_ne!(expected_of(&[0], 17, 1 << 20), [0]);
    }
}
