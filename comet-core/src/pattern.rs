//! Test data that tells messages apart, and checks that say what is wrong.

use std::fmt::Display;

use crate::error::KernelError;

/// Bytes of one word of the pattern.
const WORD: usize = size_of::<u64>();

/// Fills `message` with bytes that depend on `seed` and on their place.
pub fn fill(message: &mut [u8], seed: u64) {
    write(message, |index| word(seed, index));
}

/// Fills `buffer` with bytes that differ, each one, from what [`fill`] puts there, so that data
/// that never arrived is noticed.
pub fn spoil(buffer: &mut [u8], seed: u64) {
    write(buffer, |index| word(seed, index).map(|byte| !byte));
}

/// Gives `buffer` the words `word`, the last one cut off where it ends.
fn write(buffer: &mut [u8], word: impl Fn(usize) -> [u8; WORD]) {
    let (words, rest) = buffer.as_chunks_mut();
    words.iter_mut().enumerate().for_each(|(index, bytes)| *bytes = word(index));
    rest.copy_from_slice(&word(words.len())[..rest.len()]);
}

/// Checks that `message` is what [`fill`] makes of `seed`; `what` names it in the error.
///
/// # Errors
/// [`KernelError::Mismatch`] with the first wrong byte.
pub fn check(message: &[u8], seed: u64, what: impl Display) -> Result<(), KernelError> {
    let (words, rest) = message.as_chunks::<WORD>();
    let is_wrong = |(index, bytes): &(usize, &[u8; WORD])| **bytes != word(seed, *index);
    let (index, bytes) = match words.iter().enumerate().find(is_wrong) {
        Some((index, bytes)) => (index, bytes.as_slice()),
        None if *rest == word(seed, words.len())[..rest.len()] => return Ok(()),
        None => (words.len(), rest),
    };
    let expected = word(seed, index);
    let is_right = |(byte, expected): &(&u8, u8)| *byte == expected;
    let within = bytes.iter().zip(expected).take_while(is_right).count();
    Err(KernelError::mismatch(
        format!("byte {} of {} of {what}", index * WORD + within, message.len()),
        format_args!("{:#04x}", expected[within]),
        format_args!("{:#04x}", bytes[within]),
    ))
}

/// Word number `index` of the pattern `seed`: a multiplicative hash, so that neither a shift nor
/// another seed gives the same bytes.
fn word(seed: u64, index: usize) -> [u8; WORD] {
    let x = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add((index as u64) << 8);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_wrong_byte_is_found_and_named() {
        let mut message = vec![0; 1002];
        fill(&mut message, 7);
        check(&message, 7, "the echo").unwrap();
        for index in [417, 999, 1001] {
            message[index] ^= 1;
            let text = check(&message, 7, "the echo").unwrap_err().to_string();
            let expected = format!("byte {index} of 1002 of the echo: expected 0x");
            assert!(text.starts_with(&expected), "{text}");
            message[index] ^= 1;
        }
    }

    #[test]
    fn another_seed_a_shift_and_a_spoiled_buffer_do_not_pass() {
        let mut message = vec![0; 100];
        fill(&mut message, 7);
        assert!(check(&message, 8, "x").is_err());
        message.rotate_left(1);
        assert!(check(&message, 7, "x").is_err());
        spoil(&mut message, 7);
        let mut filled = vec![0; message.len()];
        fill(&mut filled, 7);
        assert!(message.iter().zip(&filled).all(|(spoiled, filled)| spoiled != filled));
    }
}
