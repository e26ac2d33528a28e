//! The block of the matrix that one rank holds, over one of the transport's message buffers.
//!
//! ```text
//!           0   1  ...  n  n+1
//!      0    +   g   g   g   +       e   elements of the global matrix, n = local_n
//!      1    g   e   e   e   g       g   guard ring: room for the neighbours' edge elements
//!     ...   g   e   e   e   g       +   corners of the ring, which no operation updates
//!      n    g   e   e   e   g
//!     n+1   +   g   g   g   +       stored row by row, (n+2)^2 doubles
//! ```
//!
//! The doubles lie in the message buffer itself, so that a whole block is sent and received
//! without a copy (thesis section 3.3.9: the local matrix with the guard wrapper is one array).

use std::ops::DerefMut;

use comet_core::transport::Work;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, Slice};

/// Length of one element in bytes.
pub(crate) const ELEMENT_BYTES: usize = size_of::<f64>();

/// Memory in which a block can lie: a message buffer of some transport.
pub(crate) trait Memory: DerefMut<Target = [u8]> {}

impl<B: DerefMut<Target = [u8]>> Memory for B {}

/// A square block of `local_n` x `local_n` doubles with a guard ring of one element.
#[derive(Debug)]
pub(crate) struct Block<B> {
    buffer: B,
    local_n: usize,
}

impl<B: Memory> Block<B> {
    /// Length in bytes of the buffer of a block of dimension `local_n`.
    pub(crate) fn length_bytes(local_n: usize) -> usize {
        (local_n + 2) * (local_n + 2) * ELEMENT_BYTES
    }

    /// The block of dimension `local_n` that lies in `buffer`.
    ///
    /// # Panics
    /// If `buffer` is not exactly as long as the block.
    pub(crate) fn new(buffer: B, local_n: usize) -> Self {
        assert_eq!(buffer.len(), Self::length_bytes(local_n), "a block fills its buffer");
        Self { buffer, local_n }
    }

    /// Dimension of the block without its ring, in elements.
    pub(crate) fn local_n(&self) -> usize {
        self.local_n
    }

    /// The whole block with its ring, as a message.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The whole block with its ring, as room for a message.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// All values, row by row, the ring included.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.buffer)
    }

    /// All rows and columns, `0..=local_n + 1`, the ring included.
    pub(crate) fn view(&self) -> ArrayView2<'_, f64> {
        let values = bytemuck::cast_slice(&self.buffer);
        ArrayView2::from_shape(self.shape(), values).expect("a block fills its buffer")
    }

    /// [`view`](Self::view), to be changed.
    pub(crate) fn view_mut(&mut self) -> ArrayViewMut2<'_, f64> {
        let shape = self.shape();
        ArrayViewMut2::from_shape(shape, self.values_mut()).expect("a block fills its buffer")
    }

    /// The `local_n` elements of `line`.
    pub(crate) fn line(&self, line: Line) -> ArrayView1<'_, f64> {
        let (axis, index) = line.axis_and_index();
        let mut elements = self.view().index_axis_move(axis, index);
        elements.slice_axis_inplace(Axis(0), Slice::from(1..=self.local_n));
        elements
    }

    /// [`line`](Self::line), to be changed.
    pub(crate) fn line_mut(&mut self, line: Line) -> ArrayViewMut1<'_, f64> {
        let ((axis, index), inside) = (line.axis_and_index(), 1..=self.local_n);
        let mut elements = self.view_mut().index_axis_move(axis, index);
        elements.slice_axis_inplace(Axis(0), Slice::from(inside));
        elements
    }

    /// The `local_n` elements of row `row`, which lie one after the other, as a message.
    pub(crate) fn row_bytes(&self, row: usize) -> &[u8] {
        &self.buffer[self.row_range_bytes(row)]
    }

    /// [`row_bytes`](Self::row_bytes), as room for a message.
    pub(crate) fn row_bytes_mut(&mut self, row: usize) -> &mut [u8] {
        let range = self.row_range_bytes(row);
        &mut self.buffer[range]
    }

    fn row_range_bytes(&self, row: usize) -> std::ops::Range<usize> {
        let start = (row * (self.local_n + 2) + 1) * ELEMENT_BYTES;
        start..start + self.local_n * ELEMENT_BYTES
    }

    fn shape(&self) -> [usize; 2] {
        [self.local_n + 2; 2]
    }
}

/// A row or a column of a block, counted with the ring, without its two ends in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The row of this number, `0..=local_n + 1`.
    Row(usize),
    /// The column of this number, `0..=local_n + 1`.
    Col(usize),
}

impl Line {
    /// Cost of copying this line of a block of dimension `local_n`.
    pub(crate) fn copy_work(self, local_n: usize) -> Work {
        let bytes = local_n * ELEMENT_BYTES;
        let (piece_bytes, stride_bytes) = match self {
            Self::Row(_) => (bytes, bytes),
            Self::Col(_) => (ELEMENT_BYTES, (local_n + 2) * ELEMENT_BYTES),
        };
        Work::Copy { bytes, piece_bytes, stride_bytes }
    }

    fn axis_and_index(self) -> (Axis, usize) {
        match self {
            Self::Row(row) => (Axis(0), row),
            Self::Col(col) => (Axis(1), col),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::transport::Transport;

    /// A block of dimension 2 whose values are their places in memory, 0 to 15.
    fn with_numbered_block(
        check: impl Fn(&mut Block<<comet_core::local::Local as Transport>::Buffer>) + Sync,
    ) {
        comet_core::local::run_alone(|t| {
            let mut block = Block::new(t.message_buffer(16 * 8).unwrap(), 2);
            for (place, value) in (0u32..).zip(block.values_mut()) {
                *value = f64::from(place);
            }
            check(&mut block);
        });
    }

    #[test]
    fn lines_leave_out_the_ring_at_their_ends() {
        with_numbered_block(|block| {
            for (line, expected) in [
                (Line::Row(0), [1.0, 2.0]),
                (Line::Row(2), [9.0, 10.0]),
                (Line::Col(0), [4.0, 8.0]),
                (Line::Col(3), [7.0, 11.0]),
            ] {
                assert_eq!(block.line(line).to_vec(), expected, "{line:?}");
                assert_eq!(block.line_mut(line).to_vec(), expected, "{line:?}");
            }
        });
    }

    #[test]
    fn the_bytes_of_a_row_are_its_elements() {
        with_numbered_block(|block| {
            let expected = [[5.0f64, 6.0].map(f64::to_ne_bytes)].concat().concat();
            assert_eq!(block.row_bytes(1), expected);
            assert_eq!(block.row_bytes_mut(1), expected);
        });
    }

    #[test]
    fn a_row_is_one_piece_and_a_column_is_one_piece_per_element() {
        let work = |piece_bytes, stride_bytes| Work::Copy { bytes: 64, piece_bytes, stride_bytes };
        assert_eq!(Line::Row(1).copy_work(8), work(64, 64));
        assert_eq!(Line::Col(1).copy_work(8), work(8, 80));
    }
}
