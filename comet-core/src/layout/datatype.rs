//! Datatypes: trees of the constructors of MPI over its elements (MPI-4.1 section 5.1.2).

use crate::collective::Element;

use super::runs::{Run, Runs};

/// A datatype. Places count from the start of the message on and never go back, so that its lower bound
/// is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// One element.
    Element(Element),
    /// `n` of a type, one behind the other (`MPI_Type_contiguous`).
    Contiguous {
        /// Number of them.
        n: usize,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of a type at one distance (`MPI_Type_vector`).
    Vector {
        /// Number of blocks.
        n: usize,
        /// Length of a block in extents of the type.
        block: usize,
        /// From the start of one block to that of the next, in extents of the type.
        stride: usize,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of a type at one distance in bytes (`MPI_Type_create_hvector`).
    Hvector {
        /// Number of blocks.
        n: usize,
        /// Length of a block in extents of the type.
        block: usize,
        /// From the start of one block to that of the next, in bytes.
        stride_bytes: usize,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of a type, each with start and length in extents of the type (`MPI_Type_indexed`).
    Indexed {
        /// The blocks.
        blocks: Vec<(usize, usize)>,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of a type, each with start in bytes and length in extents of the type
    /// (`MPI_Type_create_hindexed`).
    Hindexed {
        /// The blocks.
        blocks: Vec<(usize, usize)>,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of one length in extents of a type (`MPI_Type_create_indexed_block`).
    IndexedBlock {
        /// That length.
        block: usize,
        /// Starts of the blocks in extents of the type.
        starts: Vec<usize>,
        /// The type.
        of: Box<Self>,
    },
    /// Blocks of several types, each with start in bytes, and length in extents of its type
    /// (`MPI_Type_create_struct`); it ends with its last block, without padding.
    Struct(Vec<(usize, usize, Self)>),
    /// A part of an array of several dimensions, the last of which lies closest (`MPI_Type_create_subarray`
    /// in the order of C).
    Subarray {
        /// Lengths of the array in extents of the type, at least one.
        sizes: Vec<usize>,
        /// Lengths of the part.
        part: Vec<usize>,
        /// Place of the part.
        start: Vec<usize>,
        /// The type.
        of: Box<Self>,
    },
    /// A type of another extent (`MPI_Type_create_resized`).
    Resized {
        /// The extent in bytes.
        extent_bytes: usize,
        /// The type.
        of: Box<Self>,
    },
}

/// Product that stays at the largest number.
fn product(factors: &[usize]) -> usize {
    factors.iter().fold(1, |product: usize, factor| product.saturating_mul(*factor))
}

impl Datatype {
    /// `n` of `of`, one behind the other.
    pub fn contiguous(n: usize, of: Self) -> Self {
        Self::Contiguous { n, of: Box::new(of) }
    }

    /// Bytes of its elements, which are those that travel.
    pub fn size_bytes(&self) -> usize {
        let sum = |lengths: &mut dyn Iterator<Item = usize>| lengths.fold(0, usize::saturating_add);
        match self {
            Self::Element(element) => element.bytes(),
            Self::Contiguous { n, of } => n.saturating_mul(of.size_bytes()),
            Self::Vector { n, block, of, .. } | Self::Hvector { n, block, of, .. } => {
                product(&[*n, *block, of.size_bytes()])
            }
            Self::Indexed { blocks, of } | Self::Hindexed { blocks, of } => {
                sum(&mut blocks.iter().map(|(_, n)| *n)).saturating_mul(of.size_bytes())
            }
            Self::IndexedBlock { block, starts, of } => {
                product(&[starts.len(), *block, of.size_bytes()])
            }
            Self::Struct(fields) => {
                sum(&mut fields.iter().map(|(_, n, of)| n.saturating_mul(of.size_bytes())))
            }
            Self::Subarray { part, of, .. } => product(part).saturating_mul(of.size_bytes()),
            Self::Resized { of, .. } => of.size_bytes(),
        }
    }

    /// Bytes from its start to that of another one behind it.
    pub fn extent_bytes(&self) -> usize {
        match self {
            Self::Subarray { sizes, of, .. } => product(sizes).saturating_mul(of.extent_bytes()),
            Self::Resized { extent_bytes, .. } => *extent_bytes,
            _ => self.end_bytes(Self::extent_bytes),
        }
    }

    /// Bytes from its start to the end of its last element.
    pub fn reach_bytes(&self) -> usize {
        match self {
            Self::Subarray { sizes, part, start, of } => {
                let mut last = 0usize;
                for ((size, part), start) in sizes.iter().zip(part).zip(start) {
                    last =
                        last.saturating_mul(*size).saturating_add(start + part.saturating_sub(1));
                }
                match product(part) {
                    0 => 0,
                    _ => last.saturating_mul(of.extent_bytes()).saturating_add(of.reach_bytes()),
                }
            }
            Self::Resized { of, .. } => of.reach_bytes(),
            _ => self.end_bytes(Self::reach_bytes),
        }
    }

    /// End of its last block in bytes, where the last of the types that it consists of ends by `end`.
    fn end_bytes(&self, end: fn(&Self) -> usize) -> usize {
        // The end of a block of so many types from a start in bytes on.
        let of_block = |start: usize, n: usize, of: &Self| match n {
            0 => 0,
            _ => (n - 1)
                .saturating_mul(of.extent_bytes())
                .saturating_add(start)
                .saturating_add(end(of)),
        };
        let strided = |n: usize, block: usize, stride_bytes: usize, of: &Self| match n {
            0 => 0,
            _ => of_block((n - 1).saturating_mul(stride_bytes), block, of),
        };
        match self {
            Self::Element(element) => element.bytes(),
            Self::Contiguous { n, of } => of_block(0, *n, of),
            Self::Vector { n, block, stride, of } => {
                strided(*n, *block, stride.saturating_mul(of.extent_bytes()), of)
            }
            Self::Hvector { n, block, stride_bytes, of } => strided(*n, *block, *stride_bytes, of),
            Self::Indexed { blocks, of } => {
                let extent = of.extent_bytes();
                let ends =
                    blocks.iter().map(|(start, n)| of_block(start.saturating_mul(extent), *n, of));
                ends.max().unwrap_or(0)
            }
            Self::Hindexed { blocks, of } => {
                blocks.iter().map(|(start, n)| of_block(*start, *n, of)).max().unwrap_or(0)
            }
            Self::IndexedBlock { block, starts, of } => {
                let last = starts.iter().max().map(|last| last.saturating_mul(of.extent_bytes()));
                last.map_or(0, |last| of_block(last, *block, of))
            }
            Self::Struct(fields) => {
                fields.iter().map(|(start, n, of)| of_block(*start, *n, of)).max().unwrap_or(0)
            }
            // Both have ends of their own.
            Self::Subarray { of, .. } | Self::Resized { of, .. } => end(of),
        }
    }

    /// The kinds of its elements, each once, in the order in which they come.
    pub(super) fn elements(&self) -> Vec<Element> {
        match self {
            Self::Element(element) => vec![*element],
            Self::Struct(fields) => {
                let mut kinds = Vec::new();
                for kind in fields.iter().flat_map(|(_, _, of)| of.elements()) {
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
                kinds
            }
            Self::Contiguous { of, .. }
            | Self::Vector { of, .. }
            | Self::Hvector { of, .. }
            | Self::Indexed { of, .. }
            | Self::Hindexed { of, .. }
            | Self::IndexedBlock { of, .. }
            | Self::Subarray { of, .. }
            | Self::Resized { of, .. } => of.elements(),
        }
    }

    /// True if pieces of `n` of it, one behind the other, share a byte of memory.
    pub(super) fn overlap(&self, n: usize) -> bool {
        // Those behind lie over no other.
        let n_near = self.reach_bytes().div_ceil(self.extent_bytes().max(1)) + 1;
        let near = Self::contiguous(n.min(n_near), self.clone());
        // More bytes than there is room for are not looked at one by one.
        near.size_bytes() > near.reach_bytes() || near.runs().overlap()
    }

    /// Largest of its counts, lengths and starts that MPI takes as an `int`.
    pub fn largest_count(&self) -> usize {
        let of_types = |of: &Self, counts: &[usize]| {
            counts.iter().copied().max().unwrap_or(0).max(of.largest_count())
        };
        match self {
            Self::Element(_) => 1,
            Self::Contiguous { n, of } => of_types(of, &[*n]),
            Self::Vector { n, block, stride, of } => of_types(of, &[*n, *block, *stride]),
            Self::Hvector { n, block, of, .. } => of_types(of, &[*n, *block]),
            Self::Indexed { blocks, of } => {
                let largest = blocks.iter().map(|(start, n)| *start.max(n)).max().unwrap_or(0);
                of_types(of, &[blocks.len(), largest])
            }
            Self::Hindexed { blocks, of } => {
                let largest = blocks.iter().map(|(_, n)| *n).max().unwrap_or(0);
                of_types(of, &[blocks.len(), largest])
            }
            Self::IndexedBlock { block, starts, of } => {
                let last = starts.iter().copied().max().unwrap_or(0);
                of_types(of, &[*block, starts.len(), last])
            }
            Self::Struct(fields) => {
                let largest = fields.iter().map(|(_, n, of)| of_types(of, &[*n]));
                largest.max().unwrap_or(0).max(fields.len())
            }
            Self::Subarray { sizes, of, .. } => of_types(of, sizes),
            Self::Resized { of, .. } => of.largest_count(),
        }
    }

    /// Its contiguous pieces of memory, in the order in which they travel.
    pub fn runs(&self) -> Runs {
        let mut runs = Runs::default();
        match self {
            Self::Element(element) => runs.push(Run::block(0, 0, element.bytes())),
            Self::Contiguous { n, of } => return of.block(*n),
            Self::Vector { n, block, stride, of } => {
                let stride_bytes = stride.saturating_mul(of.extent_bytes());
                return of.block(*block).repeated(*n, stride_bytes);
            }
            Self::Hvector { n, block, stride_bytes, of } => {
                return of.block(*block).repeated(*n, *stride_bytes);
            }
            Self::Indexed { blocks, of } => {
                let extent = of.extent_bytes();
                blocks.iter().for_each(|(start, n)| runs.append(&of.block(*n), start * extent));
            }
            Self::Hindexed { blocks, of } => {
                blocks.iter().for_each(|(start, n)| runs.append(&of.block(*n), *start));
            }
            Self::IndexedBlock { block, starts, of } => {
                let (block, extent) = (of.block(*block), of.extent_bytes());
                starts.iter().for_each(|start| runs.append(&block, start * extent));
            }
            Self::Struct(fields) => {
                fields.iter().for_each(|(start, n, of)| runs.append(&of.block(*n), *start));
            }
            Self::Subarray { sizes, part, start, of } => {
                let (mut stride_bytes, mut at, mut part_of) = (of.extent_bytes(), 0, of.runs());
                for ((size, part), start) in sizes.iter().zip(part).zip(start).rev() {
                    part_of = part_of.repeated(*part, stride_bytes);
                    at += start * stride_bytes;
                    stride_bytes = stride_bytes.saturating_mul(*size);
                }
                runs.append(&part_of, at);
            }
            Self::Resized { of, .. } => return of.runs(),
        }
        runs
    }

    /// Those of `n` of it, one behind the other.
    fn block(&self, n: usize) -> Runs {
        self.runs().repeated(n, self.extent_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places of the bytes of `of` in the order in which they travel, straight from the definition.
    fn places(of: &Datatype, at: usize, into: &mut Vec<usize>) {
        let block = |start: usize, n: usize, of: &Datatype, into: &mut Vec<usize>| {
            (0..n).for_each(|index| places(of, at + start + index * of.extent_bytes(), into));
        };
        match of {
            Datatype::Element(element) => into.extend(at..at + element.bytes()),
            Datatype::Contiguous { n, of } => block(0, *n, of, into),
            Datatype::Vector { n, block: length, stride, of } => {
                (0..*n).for_each(|i| block(i * stride * of.extent_bytes(), *length, of, into));
            }
            Datatype::Hvector { n, block: length, stride_bytes, of } => {
                (0..*n).for_each(|i| block(i * stride_bytes, *length, of, into));
            }
            Datatype::Indexed { blocks, of } => {
                blocks.iter().for_each(|(start, n)| block(start * of.extent_bytes(), *n, of, into));
            }
            Datatype::Hindexed { blocks, of } => {
                blocks.iter().for_each(|(start, n)| block(*start, *n, of, into));
            }
            Datatype::IndexedBlock { block: length, starts, of } => {
                starts.iter().for_each(|start| block(start * of.extent_bytes(), *length, of, into));
            }
            Datatype::Struct(fields) => {
                fields.iter().for_each(|(start, n, of)| block(*start, *n, of, into));
            }
            Datatype::Subarray { sizes, part, start, of } => {
                let n: usize = part.iter().product();
                for index in 0..n {
                    let (mut rest, mut place, mut stride) = (index, 0, 1);
                    for d in (0..sizes.len()).rev() {
                        place += (start[d] + rest % part[d]) * stride;
                        rest /= part[d];
                        stride *= sizes[d];
                    }
                    block(place * of.extent_bytes(), 1, of, into);
                }
            }
            Datatype::Resized { of, .. } => places(of, at, into),
        }
    }

    /// SK-31: every constructor and nested ones move the bytes that their definition names, in its order.
    #[test]
    fn runs_are_the_bytes_of_the_definition_in_its_order() {
        for text in [
            "double",
            "contiguous(3,int)",
            "vector(4,1,3,double)",
            "vector(3,2,5,int)",
            "vector(0,2,5,int)",
            "hvector(3,2,11,int)",
            "indexed(1:2 5:1 9:4,int)",
            "indexed(9:1 0:2,byte)",
            "hindexed(3:2 19:1,double)",
            "indexed_block(2,0 3 11 7,int)",
            "struct(0:1:int,8:2:double,30:1:char)",
            "subarray(4x5x6,2x3x2,1x2x3,int)",
            "subarray(4x4,4x2,0x1,double)",
            "subarray(5,5,0,int)",
            "resized(32,double)",
            "contiguous(4,resized(12,int))",
            "contiguous(3,vector(2,1,2,int))",
            "vector(3,2,4,vector(2,1,3,int))",
            "vector(2,1,3,vector(5,1,3,int))",
            "contiguous(3,struct(0:1:vector(2,1,2,int),24:1:indexed(0:1 2:2,byte)))",
            "hvector(4,1,4,resized(4,hvector(3,1,16,int)))",
        ] {
            let of: Datatype = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut expected = Vec::new();
            places(&of, 0, &mut expected);
            let mut memory = vec![0; of.reach_bytes()];
            crate::pattern::fill(&mut memory, 7);
            let (runs, size) = (of.runs(), of.size_bytes());
            assert_eq!(size, expected.len(), "{text}");
            assert_eq!(
                expected.iter().max().map_or(0, |last| last + 1),
                of.reach_bytes(),
                "{text}"
            );
            let mut packed = vec![0; size];
            runs.pack(&memory, &mut packed);
            let by_definition: Vec<u8> = expected.iter().map(|place| memory[*place]).collect();
            assert_eq!(packed, by_definition, "{text}");
            let mut back = vec![0xee; memory.len()];
            runs.unpack(&packed, &mut back);
            for (place, byte) in back.iter().enumerate() {
                let wanted = if expected.contains(&place) { memory[place] } else { 0xee };
                assert_eq!(*byte, wanted, "{text} at {place}");
            }
        }
    }

    #[test]
    fn extents_are_those_of_mpi() {
        for (text, extent, reach) in [
            ("vector(4,1,3,double)", 80, 80),
            ("subarray(4x4,2x2,1x1,int)", 64, 44),
            ("resized(32,double)", 32, 8),
            ("contiguous(2,resized(4,double))", 8, 12),
            ("struct(0:1:int,8:1:double)", 16, 16),
            ("indexed(5:1,int)", 24, 24),
        ] {
            let of = super::super::words::unchecked(text).unwrap();
            assert_eq!((of.extent_bytes(), of.reach_bytes()), (extent, reach), "{text}");
        }
    }
}
