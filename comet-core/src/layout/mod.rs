//! Layouts: messages that are blocks of memory with gaps between them (MPI-4.1 section 5.1).
//!
//! ```text
//!   vector:2:4, 8 elements of data    ##..##..##..##   extent 14, data 8: blocks of 2, one every 4
//!   contiguous                        ########         extent 8, data 8
//!   indexed                           #..##.###...##   lines of a triangle, the last one cut off
//! ```
//!
//! A layout is scaled to the length of a message, so that messages of all layouts have the same data and
//! any two are sent and received as each other. OSU counts the gaps too (`vect:4:2`).

mod construction;
mod datatype;
mod packing;
mod runs;
mod words;

use std::fmt;
use std::sync::Arc;

pub use construction::{Construction, PieceSearch};
pub use datatype::Datatype;
pub use packing::Packing;
pub use runs::Runs;
pub use words::{CONSTRUCTORS, parts};

use crate::collective::Element;
use crate::pattern;

/// Name of the figure with the bytes of data in a message that has a layout.
pub const DATA_BYTES: &str = "data_bytes";
/// Name of the figure with the bytes from its start to the end of its last block.
pub const EXTENT_BYTES: &str = "extent_bytes";
/// Name of the figure with the number of pieces of memory that it consists of.
pub const N_PIECES: &str = "n_pieces";

/// The most elements that a layout names, and that a message without gaps has: those that a C integer holds.
pub(crate) const MAX_ELEMENTS: usize = i32::MAX as usize;

/// Form of a layout, of elements of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// All elements, one behind the other.
    Contiguous,
    /// Blocks of elements, one every stride.
    Vector { block: usize, stride: usize },
    /// The same with the stride in bytes.
    Hvector { block: usize, stride_bytes: usize },
    /// The lines of the lower triangle of a square, the last of them cut off; in bytes or not.
    Triangle { is_in_bytes: bool },
    /// Blocks of one length with gaps of 1, 2 and 3 elements.
    IndexedBlock { block: usize },
    /// Records of one element, a gap of one and two more elements.
    Struct,
    /// One of the two layers in the middle of an array of three dimensions.
    Subarray,
    /// Blocks of an extent, in elements.
    Resized { block: usize, extent: usize },
    /// Vectors of four blocks in a vector.
    Nested { block: usize, stride: usize },
    /// A struct of a vector of every other element and of indexed blocks.
    Mixed,
    /// OSU's `vect`: the first `block` of every `stride` elements of the length; what is no whole stride is left
    /// out.
    Vect { stride: usize, block: usize },
    /// OSU's `indx`: blocks in ascending order at the same places for all lengths, each with start and length.
    Indx(Arc<[(usize, usize)]>),
    /// A datatype of the user's, as often as it fits.
    Own(Arc<Datatype>),
}

/// Layout of each message of a run, on the side that sends or on the one that receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    word: String,
    form: Form,
    /// Text of the layout that a name of the user's stands for.
    definition: Option<String>,
}

impl Layout {
    /// OSU's layout with a block for each line `START,LENGTH` of `text`, in elements; lines that begin with a
    /// `#` and blank ones are left out.
    ///
    /// # Errors
    /// A sentence about the first line that is no block, or whose block does not lie behind the one
    /// before.
    pub fn indx(text: &str) -> Result<Self, String> {
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
            _ => {
                let word = blocks.iter().map(|(start, n)| format!(":{start},{n}"));
                let word = format!("indx{}", word.collect::<String>());
                Ok(Self { word, form: Form::Indx(blocks.into()), definition: None })
            }
        }
    }

    /// The datatype of a message of `length_bytes` of `element`.
    fn of(&self, length_bytes: usize, element: Element) -> Datatype {
        let (n, unit) = (length_bytes / element.bytes(), element.bytes());
        let of = || Box::new(Datatype::Element(element));
        match &self.form {
            Form::Contiguous => Datatype::Contiguous { n, of: of() },
            Form::Vector { block, stride } => {
                Datatype::Vector { n: n / block, block: *block, stride: *stride, of: of() }
            }
            Form::Hvector { block, stride_bytes } => {
                let stride_bytes = *stride_bytes;
                Datatype::Hvector { n: n / block, block: *block, stride_bytes, of: of() }
            }
            Form::Triangle { is_in_bytes: false } => {
                Datatype::Indexed { blocks: triangle(n, 1), of: of() }
            }
            Form::Triangle { is_in_bytes: true } => {
                Datatype::Hindexed { blocks: triangle(n, unit), of: of() }
            }
            Form::IndexedBlock { block } => {
                // Blocks 0 to 5, and a gap behind the last one too.
                let start = |index: usize| index * block + [0, 1, 3, 6, 7, 9][index];
                let n_blocks = (n / block).clamp(1, 6);
                let starts = (0..n_blocks).map(start).collect();
                let extent_bytes = (6 * block + 12) * unit;
                let of = Datatype::IndexedBlock { block: *block, starts, of: of() };
                let of = Datatype::Resized { extent_bytes, of: Box::new(of) };
                Datatype::contiguous(n / block / n_blocks, of)
            }
            Form::Struct => {
                let element = || Datatype::Element(element);
                let of = Datatype::Struct(vec![(0, 1, element()), (2 * unit, 2, element())]);
                Datatype::contiguous(n / 3, of)
            }
            Form::Subarray => {
                // The lines are no shorter than there are of them.
                let line = 1usize << (n.max(1).ilog2().div_ceil(2));
                let (n_lines, line) = (n / line, line);
                match n_lines {
                    0 => Datatype::Contiguous { n: 0, of: of() },
                    _ => Datatype::Subarray {
                        sizes: vec![n_lines, 2, line],
                        part: vec![n_lines, 1, line],
                        start: vec![0, 1, 0],
                        of: of(),
                    },
                }
            }
            Form::Resized { block, extent } => {
                let of = Box::new(Datatype::Contiguous { n: *block, of: of() });
                let of = Datatype::Resized { extent_bytes: extent * unit, of };
                Datatype::contiguous(n / block, of)
            }
            Form::Nested { block, stride } => {
                let (block, stride) = (*block, *stride);
                let inner = Datatype::Vector { n: 4, block, stride, of: of() };
                Datatype::Vector { n: n / (4 * block), block: 1, stride: 2, of: Box::new(inner) }
            }
            Form::Mixed => {
                let vector = Datatype::Vector { n: 4, block: 1, stride: 2, of: of() };
                let indexed = Datatype::Indexed { blocks: vec![(0, 1), (2, 3)], of: of() };
                let of = Datatype::Struct(vec![(0, 1, vector), (8 * unit, 1, indexed)]);
                Datatype::contiguous(n / 8, of)
            }
            Form::Vect { stride, block } => {
                Datatype::Vector { n: n / stride, block: *block, stride: *stride, of: of() }
            }
            Form::Indx(blocks) => Datatype::Indexed { blocks: blocks.to_vec(), of: of() },
            Form::Own(own) => {
                let n = length_bytes.checked_div(own.size_bytes()).unwrap_or(0);
                Datatype::contiguous(n, Datatype::clone(own))
            }
        }
    }

    /// True if blocks of a message of `length_bytes` share memory where elements have `unit` bytes.
    fn overlaps(&self, length_bytes: usize, unit: usize) -> bool {
        match &self.form {
            Form::Hvector { block, stride_bytes } => *stride_bytes < block * unit,
            Form::Own(own) => own.overlap(length_bytes / own.size_bytes()),
            _ => false,
        }
    }

    /// The kind of all elements of a type of the user's, if that is what it is and they are of one.
    fn own_element(&self) -> Option<Element> {
        let Form::Own(own) = &self.form else { return None };
        let kinds = own.elements();
        (kinds.len() == 1).then(|| kinds[0])
    }

    /// True if its messages have the data of their length, but for what is no whole block.
    fn keeps_length(&self) -> bool {
        !matches!(self.form, Form::Vect { .. } | Form::Indx(_))
    }
}

/// The lines of the lower triangle of a square with `n` elements, the last of them cut off, each with its start
/// in `unit` of an element, and its length.
fn triangle(n: usize, unit: usize) -> Vec<(usize, usize)> {
    let line_of = |line: usize| (line + 1).min(n - line * (line + 1) / 2);
    let n_lines = (0..).take_while(|line| line * (line + 1) / 2 < n).count();
    (0..n_lines).map(|line| (line * n_lines * unit, line_of(line))).collect()
}

/// Its word, or the name of a datatype of the user's.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)
    }
}

/// The side that makes one message of the pieces of memory, and pieces of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The transport, by a datatype of its own, or by loops of ours where it has none.
    Datatype,
    /// Loops of ours, before a send and after a receive of a message in one piece (`packed:`).
    Packed,
    /// The calls of the library for it (`mpi_packed:`, `MPI_Pack`).
    PackedByLibrary,
}

/// The layouts of the messages of a case: that of the side that sends, and that of the side that receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layouts {
    sent: Layout,
    received: Layout,
    way: Way,
}

impl Layouts {
    /// `layout` on both sides, by a datatype of the transport.
    pub fn both(layout: Layout) -> Self {
        Self { received: layout.clone(), sent: layout, way: Way::Datatype }
    }

    /// Each of the layouts in `text`, between commas; `indx` finds the blocks of a file.
    ///
    /// # Errors
    /// A sentence about the first that is none.
    pub fn list(
        text: &str,
        indx: impl Fn(&str) -> Result<Layout, String>,
    ) -> Result<Vec<Self>, String> {
        let list = words::parts(text).into_iter().map(|text| Self::parse(text, &indx));
        let list: Vec<Self> = list.collect::<Result<_, _>>()?;
        let sides: Vec<&Layout> = list.iter().flat_map(|of| [&of.sent, &of.received]).collect();
        let has_other = |layout: &&&Layout| {
            sides.iter().any(|other| other.word == layout.word && other.form != layout.form)
        };
        match sides.iter().find(has_other) {
            Some(layout) => Err(format!("{layout} is two layouts (give each a name of its own)")),
            None => Ok(list),
        }
    }

    /// `[packed:|mpi_packed:]SENT[:to:RECEIVED]`.
    fn parse(text: &str, indx: impl Fn(&str) -> Result<Layout, String>) -> Result<Self, String> {
        let side = |text: &str| {
            let (way, word) = match text.split_once(':') {
                Some(("packed", rest)) => (Way::Packed, rest),
                Some(("mpi_packed", rest)) => (Way::PackedByLibrary, rest),
                _ => (Way::Datatype, text),
            };
            let layout = word.strip_prefix("indx:").map_or_else(|| word.parse(), &indx);
            layout.map(|layout| (layout, way))
        };
        let (sent, way) = side(text.split_once(":to:").map_or(text, |(sent, _)| sent))?;
        let (received, of_received) = match text.split_once(":to:") {
            Some((_, received)) => side(received)?,
            None => (sent.clone(), way),
        };
        // The first word is that of both sides.
        if of_received != way && of_received != Way::Datatype {
            return Err(format!("{text} packs on one side (pack on both)"));
        }
        Ok(Self { sent, received, way })
    }

    /// Way in which messages are made of pieces.
    pub fn way(&self) -> Way {
        self.way
    }

    /// Words for the same blocks by a datatype of the transport, on the side that sends.
    pub(crate) fn datatype(&self) -> String {
        Self::both(self.sent.clone()).to_string()
    }

    /// True if the layouts of the two sides differ, whatever their names.
    pub fn differ(&self) -> bool {
        self.sent.form != self.received.form
    }

    /// The names that the user gave, each with the text for which it stands.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        let sides = [&self.sent, &self.received].into_iter();
        sides.filter_map(|layout| Some((&*layout.word, layout.definition.as_deref()?)))
    }

    /// The blocks of a message of `length_bytes` of `element`.
    pub fn of(self: &Arc<Self>, length_bytes: usize, element: Element) -> Blocks {
        // A layout beside a type of the user's has the elements of that.
        let of_other = |other: &Layout| other.own_element().unwrap_or(element);
        let elements = [of_other(&self.received), of_other(&self.sent)];
        let datatypes =
            [self.sent.of(length_bytes, elements[0]), self.received.of(length_bytes, elements[1])];
        let units = elements.map(Element::bytes);
        Blocks { layouts: Arc::clone(self), datatypes, length_bytes, units }
    }
}

/// `[packed:|mpi_packed:]SENT[:to:RECEIVED]`, with the name of each layout.
impl fmt::Display for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.way {
            Way::Datatype => "",
            Way::Packed => "packed:",
            Way::PackedByLibrary => "mpi_packed:",
        })?;
        match self.differ() {
            true => write!(f, "{}:to:{}", self.sent, self.received),
            false => write!(f, "{}", self.sent),
        }
    }
}

/// The blocks of one message, on both sides.
///
/// ```
/// use comet_core::collective::Element;
/// use comet_core::layout::{Layout, Layouts};
/// let layouts = Layouts::both("vector:2:4".parse().unwrap());
/// let blocks = std::sync::Arc::new(layouts).of(24, Element::I32);
/// assert_eq!((blocks.extent_bytes(), blocks.data_bytes(), blocks.n_pieces()), (40, 24, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    layouts: Arc<Layouts>,
    /// Of the side that sends, and of the side that receives.
    datatypes: [Datatype; 2],
    length_bytes: usize,
    /// Bytes of an element, likewise.
    units: [usize; 2],
}

impl Blocks {
    /// Refuses messages with more elements than a type of MPI has, those that are no block, and those of which
    /// the other side has no equal.
    ///
    /// # Errors
    /// A sentence with both numbers.
    pub(crate) fn admit(&self) -> Result<(), String> {
        let n = self.datatypes.iter().map(Datatype::largest_count).max().unwrap_or(0);
        if n > MAX_ELEMENTS {
            return Err(format!(
                "a layout has at most {MAX_ELEMENTS} elements, a message {n} (use shorter ones)"
            ));
        }
        let Layouts { sent, received, way } = &*self.layouts;
        let kinds = self.datatypes.each_ref().map(Datatype::elements);
        if *way == Way::Datatype
            && self.layouts.differ()
            && (kinds[0] != kinds[1] || kinds[0].len() > 1)
        {
            let names = kinds
                .map(|kinds| kinds.into_iter().map(Element::name).collect::<Vec<_>>().join(", "));
            return Err(format!(
                "{sent} sends elements of {}, and {received} receives {} (use the same kind of element on both \
                 sides, or packed:{sent}:to:{received})",
                names[0], names[1]
            ));
        }
        let [sent_bytes, received_bytes] = self.datatypes.each_ref().map(Datatype::size_bytes);
        if sent_bytes != received_bytes {
            return Err(format!(
                "{sent} sends {sent_bytes} bytes of {}, and {received} receives {received_bytes} (use a \
                 length of whole blocks of both)",
                self.length_bytes
            ));
        }
        if *way == Way::PackedByLibrary && i32::try_from(sent_bytes).is_err() {
            return Err(format!(
                "MPI_Pack takes at most {} bytes, not {sent_bytes} (use shorter messages)",
                i32::MAX
            ));
        }
        for (layout, unit) in [sent, received].into_iter().zip(self.units) {
            if layout.overlaps(self.length_bytes, unit) {
                return Err(format!(
                    "the blocks of {layout} overlap in {} bytes of elements of {unit} (take a longer stride or \
                     extent)",
                    self.length_bytes
                ));
            }
        }
        if sent_bytes == 0 && self.length_bytes > 0 && sent.keeps_length() {
            return Err(format!(
                "{} bytes are no block of {} (use longer messages)",
                self.length_bytes, self.layouts
            ));
        }
        Ok(())
    }

    /// The layouts.
    pub fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// The datatype of the side that sends.
    pub fn sent(&self) -> &Datatype {
        &self.datatypes[0]
    }

    /// The datatype of the side that receives.
    pub fn received(&self) -> &Datatype {
        &self.datatypes[1]
    }

    /// Bytes from the start of a message to the end of its last block, on the side where that is more: the
    /// length of its buffers on both.
    pub fn extent_bytes(&self) -> usize {
        self.datatypes.iter().map(Datatype::reach_bytes).max().unwrap_or(0)
    }

    /// Bytes of the blocks, which are those that travel.
    pub fn data_bytes(&self) -> usize {
        self.sent().size_bytes()
    }

    /// Number of pieces of memory on the side where they are more.
    pub fn n_pieces(&self) -> usize {
        self.datatypes.iter().map(|of| of.runs().n_pieces()).max().unwrap_or(0)
    }

    /// Contents of a place that was [spoiled](pattern::spoil), into which a message of the pattern `seed`
    /// has been received: gaps stay as they were.
    pub fn arrived(&self, seed: u64) -> Vec<u8> {
        self.arrived_over(seed, |place| pattern::spoil(place, seed))
    }

    /// The same of a place with the contents that `before` writes.
    pub(crate) fn arrived_over(&self, seed: u64, before: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let [mut place, mut message] = [self.extent_bytes(); 2].map(|length| vec![0; length]);
        before(&mut place);
        pattern::fill(&mut message, seed);
        let mut packed = vec![0; self.data_bytes()];
        self.sent().runs().pack(&message, &mut packed);
        self.received().runs().unpack(&packed, &mut place);
        place
    }
}

#[cfg(test)]
mod tests;
