//! Brings what each rank knows about itself to rank 0.

use comet_core::error::TransportError;
use comet_core::transport::{Source, Tag, Transport};

const LENGTH: Tag = Tag::new(1);
const BODY: Tag = Tag::new(2);

/// The `bytes` of all ranks in rank order, on rank 0; nothing on the others. All ranks call it.
///
/// # Errors
/// If the transport fails.
pub(crate) fn gather<T: Transport>(t: &T, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
    if t.rank() != 0 {
        t.blocked_send(0, LENGTH, &(bytes.len() as u64).to_le_bytes())?;
        t.blocked_send(0, BODY, &bytes)?;
        return Ok(Vec::new());
    }
    let mut gathered = vec![bytes];
    for rank in 1..t.n_ranks() {
        let mut length = [0; 8];
        t.blocked_recv(Source::Rank(rank), LENGTH, &mut length)?;
        let length_bytes = usize::try_from(u64::from_le_bytes(length))
            .expect("a rank of this program describes itself in memory");
        let mut body = vec![0; length_bytes];
        t.blocked_recv(Source::Rank(rank), BODY, &mut body)?;
        gathered.push(body);
    }
    Ok(gathered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_0_has_the_bytes_of_all_ranks_in_order() {
        let gathered = comet_core::local::run(3, |t| gather(t, vec![7; t.rank()]).unwrap());
        assert_eq!(gathered, [vec![vec![], vec![7], vec![7, 7]], vec![], vec![]]);
    }
}
