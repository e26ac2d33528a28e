//! Layouts: messages that are blocks of memory with gaps between them (MPI-4.1 section 5.1).
//!
//! ```text
//!   vector:4:2, 14 elements     ##..##..##      extent 10, data 6: blocks of 2 elements, one every 4
//!   contiguous                  ##############  extent 14, data 14
//!   indexed, 1,2 and 5,1        .##..#          extent 6, data 3, whatever the length
//! ```

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use crate::pattern;

/// Name of the figure with the bytes of data in a message that has a layout.
pub const DATA_BYTES: &str = "data_bytes";

/// The most elements that a layout names, and that a message without gaps has: those that a C integer holds.
const MAX_ELEMENTS: usize = i32::MAX as usize;

/// Layout of each message of a run: one element of a datatype that is made for its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All elements, one behind the other (`MPI_Type_contiguous`).
    Contiguous,
    /// The first `block` of every `stride` elements; what is no whole stride is left out
    /// (`MPI_Type_vector`).
    Vector {
        /// Elements from the start of one block to that of the next, at least 1.
        stride: usize,
        /// Elements of a block, from 1 to the stride.
        block: usize,
    },
    /// Blocks in ascending order at the same places for all lengths, each with start and length in
    /// elements (`MPI_Type_indexed`).
    Indexed(Arc<[(usize, usize)]>),
}

impl Layout {
    /// The layout with a block for each line `START,LENGTH` of `text`, in elements; lines that begin with
    /// a `#` and blank ones are left out.
    ///
    /// # Errors
    /// A sentence about the first line that is no block, or whose block does not lie behind the one
    /// before.
    pub fn indexed(text: &str) -> Result<Self, String> {
        let mut blocks: Vec<(usize, usize)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let refuse = |expected| format!("line {}: '{line}' {expected}", index + 1);
            let number =
                |word: &str| word.trim().parse::<usize>().ok().filter(|n| *n <= MAX_ELEMENTS);
            let block = line.split_once(',').and_then(|(start, n)| number(start).zip(number(n)));
            let block = block.filter(|(start, n)| *n > 0 && start + n <= MAX_ELEMENTS);
            let block = block.ok_or_else(|| refuse("is no block (write START,LENGTH)"))?;
            let end = blocks.last().map_or(0, |(start, n)| start + n);
            if block.0 < end {
                return Err(refuse("begins before the end of the block before (sort the lines)"));
            }
            blocks.push(block);
        }
        // A message of one byte may be a short answer beside those of the layout.
        match blocks.iter().map(|(_, n)| n).sum::<usize>() {
            0 | 1 => Err("it has fewer than 2 elements (write lines START,LENGTH)".into()),
            _ => Ok(Self::Indexed(blocks.into())),
        }
    }

    /// The blocks of a message of `length_bytes` in elements of `unit` bytes.
    pub fn of(&self, length_bytes: usize, unit: usize) -> Blocks {
        Blocks { layout: self.clone(), n_elements: length_bytes / unit, unit }
    }
}

/// `contiguous`, `vector:STRIDE:BLOCK`, or `indexed` with the number of blocks and of their elements.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contiguous => f.write_str("contiguous"),
            Self::Vector { stride, block } => write!(f, "vector:{stride}:{block}"),
            Self::Indexed(blocks) => {
                let blocks = blocks.iter().map(|(start, n)| format!(":{start},{n}"));
                write!(f, "indexed{}", blocks.collect::<String>())
            }
        }
    }
}

/// The words of the layouts that no file describes.
impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let vector = text.strip_prefix("vector:").and_then(|rest| rest.split_once(':'));
        let vector = vector.and_then(|(stride, block)| {
            let (stride, block) = (stride.parse().ok()?, block.parse().ok()?);
            ((1..=stride).contains(&block) && stride <= MAX_ELEMENTS)
                .then_some(Self::Vector { stride, block })
        });
        match vector {
            Some(vector) => Ok(vector),
            None if text == "contiguous" => Ok(Self::Contiguous),
            None => Err("layouts are contiguous, vector:STRIDE:BLOCK with a block of 1 to STRIDE \
                         elements, and indexed:FILE (write vector:8:4)"
                .into()),
        }
    }
}

/// The blocks of one message.
///
/// ```
/// use comet_core::layout::Layout;
/// let blocks = Layout::Vector { stride: 4, block: 2 }.of(56, 4);
/// assert_eq!((blocks.extent_bytes(), blocks.data_bytes()), (40, 24));
/// assert_eq!(blocks.pieces().collect::<Vec<_>>(), [0..8, 16..24, 32..40]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    layout: Layout,
    n_elements: usize,
    unit: usize,
}

impl Blocks {
    /// Refuses messages with more elements than a type of MPI has.
    ///
    /// # Errors
    /// A sentence with both numbers.
    pub(crate) fn admit(&self) -> Result<(), String> {
        match self.n_elements {
            n if n > MAX_ELEMENTS => Err(format!(
                "a layout has at most {MAX_ELEMENTS} elements, a message {n} (use shorter ones)"
            )),
            _ => Ok(()),
        }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of elements of a message without gaps of the same length.
    pub fn n_elements(&self) -> usize {
        self.n_elements
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        match &self.layout {
            Layout::Contiguous => 1,
            Layout::Vector { stride, .. } => self.n_elements / stride,
            Layout::Indexed(blocks) => blocks.len(),
        }
    }

    /// Place of block `index` in bytes.
    fn place(&self, index: usize) -> Range<usize> {
        let (start, n) = match &self.layout {
            Layout::Contiguous => (0, self.n_elements),
            Layout::Vector { stride, block } => (index * stride, *block),
            Layout::Indexed(blocks) => blocks[index],
        };
        start * self.unit..(start + n) * self.unit
    }

    /// Places of the blocks in bytes, ascending.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.n_blocks()).map(|index| self.place(index))
    }

    /// Bytes from the start of the message to the end of its last block.
    pub fn extent_bytes(&self) -> usize {
        self.n_blocks().checked_sub(1).map_or(0, |last| self.place(last).end)
    }

    /// Bytes of the blocks, which are those that travel.
    pub fn data_bytes(&self) -> usize {
        self.pieces().map(|piece| piece.len()).sum()
    }

    /// Contents of a place that was [spoiled](pattern::spoil), into which a message of the pattern `seed`
    /// has been received: gaps stay as they were.
    pub fn received(&self, seed: u64) -> Vec<u8> {
        let [mut place, mut message] = [self.extent_bytes(); 2].map(|length| vec![0; length]);
        pattern::spoil(&mut place, seed);
        pattern::fill(&mut message, seed);
        self.pieces().for_each(|piece| place[piece.clone()].copy_from_slice(&message[piece]));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(layout: &Layout, length_bytes: usize, unit: usize) -> (usize, usize, usize) {
        let blocks = layout.of(length_bytes, unit);
        (blocks.n_blocks(), blocks.extent_bytes(), blocks.data_bytes())
    }

    #[test]
    fn extents_end_with_the_last_block() {
        let vector: Layout = "vector:8:4".parse().unwrap();
        // As MPI_Type_vector has them: no gap behind the last block, and no block in less than a stride.
        for (length, expected) in
            [(4, (0, 0, 0)), (8, (1, 4, 4)), (16, (2, 12, 8)), (31, (3, 20, 12))]
        {
            assert_eq!(facts(&vector, length, 1), expected, "{length}");
        }
        assert_eq!(facts(&vector, 64, 4), (2, 48, 32));
        assert_eq!(facts(&Layout::Contiguous, 12, 4), (1, 12, 12));
        let indexed = Layout::indexed("# two blocks\n1,2\n\n 5 , 1\n").unwrap();
        assert_eq!(facts(&indexed, 1024, 4), (2, 24, 12));
        assert_eq!(indexed.to_string(), "indexed:1,2:5,1");
        assert_eq!(vector.to_string(), "vector:8:4");
    }

    #[test]
    fn layouts_that_are_none_are_refused() {
        for text in ["vector", "vector:4", "vector:4:5", "vector:4:0", "vector:0:0", "indexed"] {
            assert!(text.parse::<Layout>().is_err(), "{text}");
        }
        for (text, expected) in [
            ("", "it has fewer than 2 elements (write lines START,LENGTH)"),
            ("0,1\n3", "line 2: '3' is no block (write START,LENGTH)"),
            (
                "0,4\n3,1",
                "line 2: '3,1' begins before the end of the block before (sort the lines)",
            ),
        ] {
            assert_eq!(Layout::indexed(text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn what_was_received_has_gaps_of_what_was_there() {
        let received = Layout::Vector { stride: 4, block: 2 }.of(16, 1).received(7);
        let [mut data, mut gaps] = [[0; 14]; 2];
        pattern::fill(&mut data, 7);
        pattern::spoil(&mut gaps, 7);
        for (index, byte) in received.iter().enumerate() {
            let expected = if index % 4 < 2 { data[index] } else { gaps[index] };
            assert_eq!(*byte, expected, "{index}");
        }
    }
}
