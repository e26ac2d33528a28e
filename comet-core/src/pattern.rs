//! Test data that tells messages apart, and checks that say what is wrong.

use crate::error::KernelError;

/// Bytes of one word of the pattern.
const WORD: usize = size_of::<u64>();

/// Fills `message` with bytes that depend on `seed` and on their place.
pub fn fill(message: &mut [u8], seed: u64) {
    for (index, bytes) in message.chunks_mut(WORD).enumerate() {
        bytes.copy_from_slice(&word(seed, index)[..bytes.len()]);
    }
}

/// Fills `buffer` with bytes that differ, each one, from what [`fill`] puts there, so that data
/// that never arrived is noticed.
pub fn spoil(buffer: &mut [u8], seed: u64) {
    for (index, bytes) in buffer.chunks_mut(WORD).enumerate() {
        bytes.copy_from_slice(&word(seed, index).map(|byte| !byte)[..bytes.len()]);
    }
}

/// Checks that `message` is what [`fill`] makes of `seed`; `what` names it in the error.
///
/// # Errors
/// [`KernelError::Mismatch`] with the first wrong byte.
pub fn check(message: &[u8], seed: u64, what: &str) -> Result<(), KernelError> {
    let is_wrong = |(index, bytes): &(usize, &[u8])| word(seed, *index)[..bytes.len()] != **bytes;
    let Some((word_index, bytes)) = message.chunks(WORD).enumerate().find(is_wrong) else {
        return Ok(());
    };
    let expected = word(seed, word_index);
    let index = bytes.iter().zip(expected).take_while(|(byte, expected)| *byte == expected).count();
    Err(KernelError::mismatch(
        format!("byte {} of {} of {what}", word_index * WORD + index, message.len()),
        format_args!("{:#04x}", expected[index]),
        format_args!("{:#04x}", bytes[index]),
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
        let mut message = vec![0; 1000];
        fill(&mut message, 7);
        check(&message, 7, "the echo").unwrap();
        message[417] ^= 1;
        let text = check(&message, 7, "the echo").unwrap_err().to_string();
        assert!(text.starts_with("byte 417 of 1000 of the echo: expected 0x"), "{text}");
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
