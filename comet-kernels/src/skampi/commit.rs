//! Construction of a datatype: time of its constructors, its commit and its end, on one rank.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.2, whose datatypes it
//! constructs (the paper does not time that); MPI-4.1 sections 5.1.2 to 5.1.9.
//!
//! **Pattern**
//! ```text
//!   rank 0   constructs a type by one call of a constructor     (Type_contiguous, Type_vector, ...)
//!            commits it                                         (Type_commit)
//!            frees it                                           (Type_free)
//! ```
//! **Timed** (rank 0): these calls, and where the type consists of others (`resized`, `nested`,
//! `mixed`) the constructor and the end of each. The other ranks are idle.
//!
//! **Reports**: time of all calls of one type.
//!
//! **Rate**: none.
//!
//! **Parameters**: `constructor` of the outermost type, of bytes, one of every two where it is
//! a vector; `length_bytes` of its data.
//!
//! **Verified by**: size and extent of the type, as the library tells them, against those that
//! its definition has.
//!
//! **Caution**: lists of blocks are made before, in the integers of the library. A message of
//! the layout `indexed_block` or `struct` repeats short ones by further constructors
//! (`--layout`), a type here has one list for all of its data. Where no library holds the
//! ranks, the time is that of finding the pieces of memory that loops copy; a simulated machine
//! takes none.

use std::sync::Arc;

use comet_core::collective::Element;
use comet_core::kernel::prelude::*;
use comet_core::layout::{CONSTRUCTORS, Construction as _, Datatype, Layout, Layouts};

/// Memory of a block in the list of a type, and in the integers of the library.
const BYTES_OF_BLOCK: u64 = 2 * size_of::<[usize; 2]>() as u64;

/// Constructor of the outermost type.
static CONSTRUCTOR: Axis =
    Axis::choice("constructor", "constructor of the outermost type", &CONSTRUCTORS);

/// `skampi/commit`; see the [module](self).
pub(crate) struct Commit;

/// The type, and size and extent of the last one that was constructed, in bytes.
pub(crate) struct Constructing<T: Transport> {
    construction: T::Construction,
    expected: [usize; 2],
    found: [usize; 2],
}

/// The type of `case`; `None` if its length is less than a block, or has more elements than a C integer holds.
fn datatype(case: &Case) -> Option<Datatype> {
    let name = CONSTRUCTORS.get(case.length(&CONSTRUCTOR))?;
    // One of every two elements, where it says.
    let numbers = match *name {
        "vector" | "hvector" | "nested" => ":1:2",
        _ => "",
    };
    let length = case.length(&LENGTH_BYTES);
    i32::try_from(length).ok()?;
    let byte = Datatype::Element(Element::U8);
    let datatype = match *name {
        // One list for all data.
        "indexed_block" => {
            let starts = (0..length).map(|index| 9 * (index / 3) + [0, 2, 5][index % 3]).collect();
            Datatype::IndexedBlock { block: 1, starts, of: Box::new(byte) }
        }
        "struct" => {
            let pair = |index| [(4 * index, 1, byte.clone()), (4 * index + 2, 2, byte.clone())];
            Datatype::Struct((0..length / 3).flat_map(pair).collect())
        }
        "resized" => {
            let of = Box::new(Datatype::contiguous(length, byte));
            Datatype::Resized { extent_bytes: 2 * length, of }
        }
        _ => {
            let layout: Layout = format!("{name}{numbers}").parse().ok()?;
            Arc::new(Layouts::both(layout)).of(length, Element::U8).sent().clone()
        }
    };
    let has_counts = |of: &Datatype| i32::try_from(of.largest_count()).is_ok();
    Some(datatype).filter(|of| of.size_bytes() > 0 && has_counts(of))
}

impl<T: Transport> Operation<T> for Constructing<T> {
    fn fill(&mut self, _: Seeds) {
        self.found = [0; 2];
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.construction.run(t)
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.found = self.construction.found(t)?;
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let expected = self.expected;
        let mut found = self.found.map(|bytes| bytes as f64);
        check.values(&mut found, |i| expected[i] as f64, |_| true, "size and extent of the type");
    }
}

impl<T: Transport> Pattern<T> for Commit {
    const INFO: KernelInfo = KernelInfo {
        name: "commit",
        file: include_str!("commit.rs"),
        summary: "Constructors, commit and end of a datatype",
        axes: &[
            AxisUse { axis: &CONSTRUCTOR, sweeps: ["0..10"; 3] },
            AxisUse { axis: &LENGTH_BYTES, sweeps: ["768", "768,48Ki", "768,6Ki,48Ki,384Ki"] },
        ],
        series: &[Series::on_test_node("commit")],
        is_movable: false,
        // A list of blocks has two words for each, and a block a byte at least.
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(BYTES_OF_BLOCK),
        admits: |case, _| match datatype(case) {
            Some(_) => Ok(()),
            None => {
                let length = case.value(&LENGTH_BYTES);
                Err(format!("{length} bytes make no such type (use 8 to 2147483647)"))
            }
        },
        ..KernelInfo::compute("skampi")
    };
    type Part = Constructing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        if cx.rank() != cx.root() {
            return Ok(None);
        }
        let datatype = datatype(case).expect("a case without a type is not admitted");
        let construction = T::Construction::of(cx.transport(), &datatype)?;
        let expected = [datatype.size_bytes(), datatype.extent_bytes()];
        Ok(Some((Duty::Times, Constructing { construction, expected, found: [0; 2] })))
    }
}
