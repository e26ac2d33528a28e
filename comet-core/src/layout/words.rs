//! Text forms of layouts (`vector:4:8`) and of datatypes (`vector(64,1,64,double)`).
//!
//! ```text
//!   byte, char, int, long, float, double       an element
//!   contiguous(N,TYPE)                         vector(N,BLOCK,STRIDE,TYPE)
//!   hvector(N,BLOCK,STRIDE_BYTES,TYPE)         indexed(START:LENGTH ...,TYPE)
//!   hindexed(START_BYTES:LENGTH ...,TYPE)      indexed_block(BLOCK,START ...,TYPE)
//!   struct(START_BYTES:LENGTH:TYPE,...)        subarray(4x4,2x2,0x1,TYPE)
//!   resized(EXTENT_BYTES,TYPE)
//! ```

use std::str::FromStr;
use std::sync::Arc;

use super::{Datatype, Form, Layout, MAX_ELEMENTS};
use crate::collective::Element;

/// The most bytes that an element of a datatype of the user's reaches over, and that are from one to the next.
const MAX_REACH_BYTES: usize = 1 << 24;
/// The most constructors of a datatype of the user's in each other.
const MAX_DEPTH: usize = 8;

/// The parts of `text` between the commas that lie in no parentheses.
pub fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (index, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => (),
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The words of the layouts that no file describes, and datatypes of the user's.
impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.trim().to_owned();
        if let Some(own) = own(&word) {
            return own;
        }
        let (name, rest) = word.split_once(':').unwrap_or((&word, ""));
        let numbers: Option<Vec<usize>> = match rest {
            "" => Some(Vec::new()),
            _ => rest.split(':').map(|n| n.parse().ok().filter(|n| *n <= MAX_ELEMENTS)).collect(),
        };
        let (first, second) = match numbers.as_deref() {
            Some([]) => (0, 0),
            Some([first]) => (*first, 0),
            Some([first, second]) => (*first, *second),
            _ => (0, usize::MAX),
        };
        let has_none = rest.is_empty();
        let has_both = (1..=second).contains(&first) && second <= MAX_ELEMENTS;
        let form = match name {
            "contiguous" | "cont" if has_none => Form::Contiguous,
            "vector" if has_both => Form::Vector { block: first, stride: second },
            "hvector" if has_both => Form::Hvector { block: first, stride_bytes: second },
            "indexed" if has_none => Form::Triangle { is_in_bytes: false },
            "hindexed" if has_none => Form::Triangle { is_in_bytes: true },
            "indexed_block" if first > 0 && second == 0 => Form::IndexedBlock { block: first },
            "struct" if has_none => Form::Struct,
            "subarray" if has_none => Form::Subarray,
            "resized" if has_both => Form::Resized { block: first, extent: second },
            "nested" if has_both => Form::Nested { block: first, stride: second },
            "mixed" if has_none => Form::Mixed,
            "vect" if (1..=first).contains(&second) => Form::Vect { stride: first, block: second },
            _ => return Err(UNKNOWN.into()),
        };
        Ok(Self { word, form, definition: None })
    }
}

/// Names of the layouts by constructors of MPI, all with the data of their length.
pub const CONSTRUCTORS: [&str; 11] = [
    "contiguous",
    "vector",
    "hvector",
    "indexed",
    "hindexed",
    "indexed_block",
    "struct",
    "subarray",
    "resized",
    "nested",
    "mixed",
];
/// Names of those of OSU.
const OF_OSU: [&str; 3] = ["cont", "vect", "indx"];

/// Sentence about a word that is no layout.
const UNKNOWN: &str = "layouts are contiguous, vector:BLOCK:STRIDE, hvector:BLOCK:BYTES, indexed, hindexed, \
    indexed_block:BLOCK, struct, subarray, resized:BLOCK:EXTENT, nested:BLOCK:STRIDE, mixed, NAME=TYPE (or one of \
    these), and OSU's \
    cont, vect:STRIDE:BLOCK and indx:FILE, with a block of 1 to STRIDE elements (write vector:4:8)";

/// The layout `NAME=TYPE`, `NAME=LAYOUT` or `TYPE(...)`; `None` for other words.
fn own(word: &str) -> Option<Result<Layout, String>> {
    let is_name = |name: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        !name.is_empty() && name.chars().all(is_letter)
    };
    let (name, text) = match word.split_once('=') {
        Some((name, _)) if CONSTRUCTORS.contains(&name) || OF_OSU.contains(&name) => {
            return Some(Err(format!("{name} is a layout already (take another name)")));
        }
        Some((name, _)) if !is_name(name) => {
            return Some(Err(format!(
                "'{name}' is no name of a layout (use letters, digits, '_', '-' and '.')"
            )));
        }
        Some((name, text)) => (name, text),
        _ if word.contains('(') => (word, word),
        _ => return None,
    };
    let definition = Some(text.trim().to_owned()).filter(|_| name != word);
    let named = |form| Layout { word: name.to_owned(), form, definition };
    if text.contains(':') && !text.contains('(') || CONSTRUCTORS.contains(&text.trim()) {
        return Some(text.parse().map(|of: Layout| named(of.form)));
    }
    Some(text.parse().and_then(|of: Datatype| match of.size_bytes() {
        0 => Err(format!("{name} has no element (give it a block)")),
        _ => Ok(named(Form::Own(Arc::new(of)))),
    }))
}

/// A datatype that a suite or a command line describes; refuses one whose pieces overlap.
impl FromStr for Datatype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let datatype = unchecked(text)?;
        let reach = datatype.reach_bytes().max(datatype.extent_bytes());
        if reach > MAX_REACH_BYTES || datatype.largest_count() > MAX_ELEMENTS {
            let most = MAX_REACH_BYTES >> 20;
            return Err(format!(
                "{text} reaches over more than {most} MiB (take fewer or nearer blocks)"
            ));
        }
        if datatype.overlap(1) {
            return Err(format!("the blocks of {text} overlap (take a longer stride or extent)"));
        }
        Ok(datatype)
    }
}

/// The datatype of `text`, whose pieces may overlap.
pub(super) fn unchecked(text: &str) -> Result<Datatype, String> {
    within(text, MAX_DEPTH)
}

/// The same of at most `depth` constructors in each other.
fn within(text: &str, depth: usize) -> Result<Datatype, String> {
    let text = text.trim();
    if let Some(element) = Element::find(text) {
        return Ok(Datatype::Element(element));
    }
    let reader = Reader { text, depth };
    let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return Err(reader.refuse(
            "byte, char, int, long, float, double, or a constructor of these (write vector(4,1,2,double))",
        ));
    };
    if depth == 0 {
        return Err(format!(
            "a datatype has at most {MAX_DEPTH} constructors in each other (take fewer)"
        ));
    }
    reader.call(name, &parts(inner))
}

/// Reader of the constructor `text`, which has at most `depth` in each other.
struct Reader<'a> {
    text: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// The datatype of the constructor `name` with these arguments.
    fn call(&self, name: &str, arguments: &[&str]) -> Result<Datatype, String> {
        let of = |text: &str| within(text, self.depth - 1).map(Box::new);
        Ok(match (name, arguments) {
            ("contiguous", [n, inner]) => {
                Datatype::Contiguous { n: self.number(n)?, of: of(inner)? }
            }
            ("vector", [n, block, stride, inner]) => Datatype::Vector {
                n: self.number(n)?,
                block: self.number(block)?,
                stride: self.number(stride)?,
                of: of(inner)?,
            },
            ("hvector", [n, block, stride, inner]) => Datatype::Hvector {
                n: self.number(n)?,
                block: self.number(block)?,
                stride_bytes: self.number(stride)?,
                of: of(inner)?,
            },
            ("indexed", [list, inner]) => {
                Datatype::Indexed { blocks: self.blocks(list)?, of: of(inner)? }
            }
            ("hindexed", [list, inner]) => {
                Datatype::Hindexed { blocks: self.blocks(list)?, of: of(inner)? }
            }
            ("indexed_block", [block, starts, inner]) => Datatype::IndexedBlock {
                block: self.number(block)?,
                starts: self.numbers(starts, ' ')?,
                of: of(inner)?,
            },
            ("struct", fields) => {
                let fields = fields.iter().map(|field| self.field(field));
                Datatype::Struct(fields.collect::<Result<_, _>>()?)
            }
            ("subarray", [sizes, part, start, inner]) => {
                self.subarray([sizes, part, start], *of(inner)?)?
            }
            ("resized", [extent, inner]) => {
                Datatype::Resized { extent_bytes: self.number(extent)?, of: of(inner)? }
            }
            _ => {
                return Err(self.refuse(
                    "constructors are contiguous, vector, hvector, indexed, hindexed, indexed_block, struct, \
                     subarray and resized (write vector(4,1,2,double))",
                ));
            }
        })
    }

    fn refuse(&self, expected: &str) -> String {
        format!("'{}' is no datatype: {expected}", self.text)
    }

    fn number(&self, text: &str) -> Result<usize, String> {
        let text = text.trim();
        let number = text.parse().ok().filter(|n: &usize| *n <= MAX_ELEMENTS);
        let expected = || format!("'{text}' is no number from 0 to {MAX_ELEMENTS}");
        number.ok_or_else(|| self.refuse(&expected()))
    }

    fn numbers(&self, text: &str, by: char) -> Result<Vec<usize>, String> {
        let words = text.split(by).filter(|word| !word.trim().is_empty());
        words.map(|word| self.number(word)).collect()
    }

    /// Blocks `START:LENGTH` with blanks between them.
    fn blocks(&self, text: &str) -> Result<Vec<(usize, usize)>, String> {
        let block = |text: &str| {
            let pair = text.split_once(':');
            let (start, n) = pair.ok_or_else(|| self.refuse("blocks are START:LENGTH"))?;
            Ok((self.number(start)?, self.number(n)?))
        };
        text.split_whitespace().map(block).collect()
    }

    /// A block `START:LENGTH:TYPE` of a struct.
    fn field(&self, text: &str) -> Result<(usize, usize, Datatype), String> {
        let words: Vec<&str> = text.splitn(3, ':').collect();
        let [start, n, of] = words[..] else {
            return Err(self.refuse("blocks are START:LENGTH:TYPE"));
        };
        Ok((self.number(start)?, self.number(n)?, within(of, self.depth - 1)?))
    }

    /// A part of an array of `of`, from lists of its sizes, of those of the part, and of its place.
    fn subarray(&self, lists: [&str; 3], of: Datatype) -> Result<Datatype, String> {
        let [sizes, part, start] = lists.map(|list| self.numbers(list, 'x'));
        let (sizes, part, start) = (sizes?, part?, start?);
        let lies_within = |d: usize| start[d] + part[d] <= sizes[d] && part[d] > 0;
        let is_even = sizes.len() == part.len() && sizes.len() == start.len();
        if sizes.is_empty() || !is_even || !(0..sizes.len()).all(lies_within) {
            let expected = "the part lies outside of the array (write subarray(4x4,2x2,1x1,int))";
            return Err(self.refuse(expected));
        }
        Ok(Datatype::Subarray { sizes, part, start, of: Box::new(of) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_datatype_is_refused_with_a_remedy() {
        let nested = |open: &str, depth| format!("{}byte{}", open.repeat(depth), ")".repeat(depth));
        let vectors = |depth| nested("vector(1,1,1,", depth);
        let structs = |depth| nested("struct(0:1:", depth);
        for (text, expected) in [
            ("word", "'word' is no datatype: byte, char, int, long, float, double, or"),
            ("vector(4,1,double)", "'vector(4,1,double)' is no datatype: constructors are"),
            ("vector(4,1,-2,double)", "'-2' is no number from 0 to 2147483647"),
            ("vector(4,x,2,double)", "'x' is no number"),
            ("indexed(4,int)", "blocks are START:LENGTH"),
            ("struct(4:int)", "blocks are START:LENGTH:TYPE"),
            ("subarray(4x4,3x3,2x2,int)", "the part lies outside of the array"),
            ("subarray(4x4,2,2x2,int)", "the part lies outside of the array"),
            ("vector(3,2,1,int)", "the blocks of vector(3,2,1,int) overlap"),
            (
                "contiguous(2,resized(4,double))",
                "the blocks of contiguous(2,resized(4,double)) overlap",
            ),
            ("contiguous(2147483647,double)", "reaches over more than 16 MiB"),
            ("resized(2147483647,byte)", "reaches over more than 16 MiB"),
            ("hvector(2147483647,1,0,byte)", "overlap (take a longer stride"),
            (&vectors(9), "a datatype has at most 8 constructors in each other"),
            (&vectors(10_000), "a datatype has at most 8 constructors in each other"),
            (&structs(9), "a datatype has at most 8 constructors in each other"),
            (&structs(10_000), "a datatype has at most 8 constructors in each other"),
            ("vector(4,1,2,vector(4,1,2))", "'vector(4,1,2)' is no datatype"),
        ] {
            let error = text.parse::<Datatype>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn commas_in_parentheses_part_nothing() {
        assert_eq!(parts("a, b(c,d(e,f)),g"), ["a", "b(c,d(e,f))", "g"]);
        assert_eq!(parts("a"), ["a"]);
    }
}
