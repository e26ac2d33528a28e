//! The contiguous pieces of a datatype in memory, and the loops that pack and unpack them.

/// Pieces of one length at one distance, in memory and in a packed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Start of the first piece in memory.
    at: usize,
    /// Its start in the packed message.
    packed_at: usize,
    /// Length of a piece in bytes.
    block: usize,
    /// Number of pieces.
    n: usize,
    /// Distance of two pieces in memory; 0 for one.
    stride: usize,
    /// Their distance in the packed message; 0 for one.
    packed_stride: usize,
}

impl Run {
    /// One piece.
    pub(super) fn block(at: usize, packed_at: usize, block: usize) -> Self {
        Self { at, packed_at, block, n: 1, stride: 0, packed_stride: 0 }
    }

    fn shifted(self, by: usize, packed_by: usize) -> Self {
        Self { at: self.at + by, packed_at: self.packed_at + packed_by, ..self }
    }

    /// The piece with `index`, alone.
    fn piece(self, index: usize) -> Self {
        let (at, packed_at) = (index * self.stride, index * self.packed_stride);
        Self::block(self.at + at, self.packed_at + packed_at, self.block)
    }

    /// This one piece `n` times.
    fn times(self, n: usize, stride: usize, packed_stride: usize) -> Self {
        match n {
            1 => self,
            _ if stride == self.block && packed_stride == self.block => {
                Self::block(self.at, self.packed_at, n * self.block)
            }
            _ => Self { n, stride, packed_stride, ..self },
        }
    }
}

/// All pieces of a datatype. Each byte of a packed message belongs to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    runs: Vec<Run>,
    size_bytes: usize,
}

impl Runs {
    /// Adds a piece behind the others in the packed message.
    pub(super) fn push(&mut self, run: Run) {
        self.size_bytes += run.block * run.n;
        // What goes on where the last piece ends is one with it.
        if let Some(last) = self.runs.last_mut()
            && (last.n, run.n) == (1, 1)
            && (last.at + last.block, last.packed_at + last.block) == (run.at, run.packed_at)
        {
            last.block += run.block;
        } else if run.block * run.n > 0 {
            self.runs.push(run);
        }
    }

    /// Adds `others`, which begin at `at` in memory, behind these in the packed message.
    pub(super) fn append(&mut self, others: &Self, at: usize) {
        let packed_at = self.size_bytes;
        others.runs.iter().for_each(|run| self.push(run.shifted(at, packed_at)));
    }

    /// These `n` times, `stride` bytes apart.
    pub(super) fn repeated(&self, n: usize, stride: usize) -> Self {
        let packed_stride = self.size_bytes;
        let size_bytes = n * packed_stride;
        if n == 0 || packed_stride == 0 {
            return Self::default();
        }
        let n_longest = self.runs.iter().map(|run| run.n).max().unwrap_or(1);
        if let [run] = self.runs[..]
            && n_longest > 1
            && (run.n * run.stride, run.n * run.packed_stride) == (stride, packed_stride)
        {
            return Self { runs: vec![Run { n: n * run.n, ..run }], size_bytes };
        }
        // The shorter of two loops becomes many runs, the longer one is the loop of each.
        let runs = if n_longest > n {
            let of_turn = |turn| {
                let shifted = move |run: &Run| run.shifted(turn * stride, turn * packed_stride);
                self.runs.iter().map(shifted)
            };
            (0..n).flat_map(of_turn).collect()
        } else {
            let pieces = |run: &Run| {
                let run = *run;
                (0..run.n).map(move |index| run.piece(index).times(n, stride, packed_stride))
            };
            self.runs.iter().flat_map(pieces).collect()
        };
        Self { runs, size_bytes }
    }

    /// Bytes of all pieces.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// End of the last byte of any piece in memory.
    pub(super) fn end(&self) -> usize {
        let end = |run: &Run| run.at + (run.n - 1) * run.stride + run.block;
        self.runs.iter().map(end).max().unwrap_or(0)
    }

    /// Number of pieces.
    pub fn n_pieces(&self) -> usize {
        self.runs.iter().map(|run| run.n).sum()
    }

    /// True if they are one piece at the start of the message.
    pub(super) fn is_one_piece(&self) -> bool {
        match self.runs[..] {
            [] => true,
            [run] => run == Run::block(0, 0, self.size_bytes),
            _ => false,
        }
    }

    /// True if two of the pieces share a byte of memory.
    pub(super) fn overlap(&self) -> bool {
        if let [run] = self.runs[..] {
            return run.n > 1 && run.stride < run.block;
        }
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for run in &self.runs {
            pieces.extend((0..run.n).map(|index| (run.at + index * run.stride, run.block)));
        }
        pieces.sort_unstable();
        pieces.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0)
    }

    /// Copies the pieces in `memory` into `packed`, one behind the other.
    ///
    /// # Panics
    /// If either is too short.
    #[inline]
    pub fn pack(&self, memory: &[u8], packed: &mut [u8]) {
        for run in &self.runs {
            let (from, into) = (&memory[run.at..], &mut packed[run.packed_at..]);
            copy((run.block, run.n), (from, run.stride), (into, run.packed_stride));
        }
    }

    /// Copies what [`pack`](Self::pack) has packed into the pieces in `memory`; gaps stay as they are.
    ///
    /// # Panics
    /// If either is too short.
    #[inline]
    pub fn unpack(&self, packed: &[u8], memory: &mut [u8]) {
        for run in &self.runs {
            let (from, into) = (&packed[run.packed_at..], &mut memory[run.at..]);
            copy((run.block, run.n), (from, run.packed_stride), (into, run.stride));
        }
    }
}

/// Copies `n` blocks, each a distance from the one before on either side; common lengths without a call.
#[inline]
fn copy(blocks: (usize, usize), from: (&[u8], usize), into: (&mut [u8], usize)) {
    match blocks {
        (block, 1) => into.0[..block].copy_from_slice(&from.0[..block]),
        (1, n) => copy_of::<1>(n, from, into),
        (2, n) => copy_of::<2>(n, from, into),
        (4, n) => copy_of::<4>(n, from, into),
        (8, n) => copy_of::<8>(n, from, into),
        (16, n) => copy_of::<16>(n, from, into),
        (32, n) => copy_of::<32>(n, from, into),
        (64, n) => copy_of::<64>(n, from, into),
        (block, n) => {
            for (from, into) in from.0.chunks(from.1).zip(into.0.chunks_mut(into.1)).take(n) {
                into[..block].copy_from_slice(&from[..block]);
            }
        }
    }
}

/// The same for blocks of `N` bytes. One side of a packed message is without gaps, so that its distance is known
/// before the loop.
#[inline]
fn copy_of<const N: usize>(n: usize, from: (&[u8], usize), into: (&mut [u8], usize)) {
    match (from.1, into.1) {
        (_, packed) if packed == N => step::<N>(n, from, (into.0, N)),
        (packed, _) if packed == N => step::<N>(n, (from.0, N), into),
        _ => step::<N>(n, from, into),
    }
}

/// Copies `n` blocks of `N` bytes. Each but the last begins a whole distance, so that the loop looks at no length.
#[expect(clippy::inline_always, reason = "a distance that the caller knows is one for the loop")]
#[inline(always)]
fn step<const N: usize>(n: usize, from: (&[u8], usize), into: (&mut [u8], usize)) {
    let copy = |from: &[u8], into: &mut [u8]| {
        let into = into.first_chunk_mut::<N>().expect("a piece lies in its memory");
        *into = *from.first_chunk().expect("a piece lies in its memory");
    };
    let (all_from, last_from) = from.0.split_at((n - 1) * from.1);
    let (all_into, last_into) = into.0.split_at_mut((n - 1) * into.1);
    all_from
        .chunks_exact(from.1)
        .zip(all_into.chunks_exact_mut(into.1))
        .for_each(|(from, into)| copy(from, into));
    copy(last_from, last_into);
}

#[cfg(test)]
mod tests {
    use super::super::Datatype;

    fn runs(text: &str) -> super::Runs {
        text.parse::<Datatype>().unwrap().runs()
    }

    #[test]
    fn a_loop_of_pieces_is_one_run_and_neighbours_are_one_piece() {
        for (text, n_runs, n_pieces) in [
            ("contiguous(1000,int)", 1, 1),
            ("vector(1000,4,4,int)", 1, 1),
            ("vector(1000,1,2,int)", 1, 1000),
            ("contiguous(10,resized(16,vector(2,1,2,int)))", 1, 20),
            // A struct of an array of structs is a loop for each field.
            ("contiguous(1000,struct(0:1:int,8:1:double))", 2, 2000),
            ("indexed(0:2 2:3 9:1,int)", 2, 2),
            ("subarray(100x100x4,100x50x2,0x0x0,int)", 50, 5000),
            ("vector(4,1,100,vector(25,1,2,int))", 4, 100),
        ] {
            let runs = runs(text);
            assert_eq!((runs.runs.len(), runs.n_pieces()), (n_runs, n_pieces), "{text}");
        }
    }

    #[test]
    fn pieces_that_share_a_byte_are_noticed() {
        for (text, expected) in [
            ("hvector(2,1,4,double)", true),
            ("hvector(2,1,8,double)", false),
            ("indexed(4:2 0:5,int)", true),
            ("contiguous(3,resized(4,hvector(2,1,12,int)))", false),
            ("contiguous(4,resized(4,hvector(2,1,12,int)))", true),
        ] {
            let runs = super::super::words::unchecked(text).unwrap().runs();
            assert_eq!(runs.overlap(), expected, "{text}");
        }
    }

    #[test]
    fn every_length_of_blocks_is_copied() {
        for block in (1..=66).chain([100, 1000]) {
            let (n, stride) = (5, block + 3);
            let runs = runs(&format!("vector({n},{block},{stride},byte)"));
            let mut memory = vec![0; n * stride];
            crate::pattern::fill(&mut memory, 7);
            let mut packed = vec![0; n * block];
            runs.pack(&memory, &mut packed);
            for (index, piece) in packed.chunks(block).enumerate() {
                assert_eq!(piece, &memory[index * stride..][..block], "{block}");
            }
            let mut back = vec![0; memory.len()];
            runs.unpack(&packed, &mut back);
            for (index, byte) in back.iter().enumerate() {
                let expected = if index % stride < block { memory[index] } else { 0 };
                assert_eq!(*byte, expected, "{block}");
            }
        }
    }
}
