//! A pattern of one's own over shared memory: two ranks exchange 1 KiB.
//!
//! `cargo run --release -p comet-measure --example own_pattern`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use comet::{Source, Tag, Transport};

fn main() -> Result<(), comet::Error> {
    let buffers = |t: &comet::Shm| Ok([t.message_buffer(1024)?, t.message_buffer(1024)?]);
    let times = comet::measure(2, buffers, |t, [sent, received]| {
        let peer = 1 - t.rank();
        t.blocked_exchange(peer, sent, Source::Rank(peer), received, Tag::new(1)).map(drop)
    })?;
    println!("{times}");
    Ok(())
}
