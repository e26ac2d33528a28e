//! The ranks of a run, as a description of a kernel sees them.

use std::sync::Arc;

use super::Case;
use super::axis::{HOPS, LENGTH_BYTES};
use super::buffers::Buffers;
use super::cast::Cast;
use super::refusal;
use crate::collective::Element;
use crate::collective::Graph;
use crate::file::Folder;
use crate::layout::{Blocks, Layouts, MAX_ELEMENTS, Way};
use crate::topology::Topology;
use crate::words::count;

/// The ranks of a run: facts that a case needs beside its own values.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Mesh and distances.
    pub topology: &'a Topology,
    /// The user's ranks of a load and of an echo beside it.
    pub given_cast: Option<Cast>,
    /// The user's graph of neighbours.
    pub graph: Option<&'a Graph>,
    /// The user's folder for files.
    pub files: Option<&'a Folder>,
    /// Layouts of the messages of the run, of which each case [has one](super::Arrangement::layout).
    pub layouts: &'a [Arc<Layouts>],
    /// Memory limit of a case on one rank, in bytes.
    pub cap_bytes: u64,
    /// Buffers of the repetitions.
    pub buffers: Buffers,
}

impl<'a> World<'a> {
    /// The ranks of `topology`, with no cast, no graph, no folder, no layouts and no limit.
    pub fn of(topology: &'a Topology) -> Self {
        let n_ranks = topology.n_ranks();
        let (cap_bytes, buffers) = (u64::MAX, Buffers::Same);
        let (given_cast, graph, files, layouts) = (None, None, None, &[][..]);
        Self { n_ranks, topology, given_cast, graph, files, layouts, cap_bytes, buffers }
    }

    /// Refuses a case that its kernel does not admit, or that exceeds the memory limit.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn admit(&self, case: &Case) -> Result<(), String> {
        self.buffers.admit(case.info)?;
        if let Some(element) = case.element().filter(|_| !case.has_whole_elements()) {
            return Err(refusal::of_elements(case.value(&LENGTH_BYTES), element.name()));
        }
        if let Some(layouts) = self.layouts(case) {
            self.admit_layouts(case, layouts)?;
        }
        (case.info.admits)(case, self)?;
        self.fits(case)
    }

    /// The layouts of the messages of `case`, if it has some.
    fn layouts(&self, case: &Case) -> Option<&'a Arc<Layouts>> {
        self.layouts.get(case.arrangement().layout?)
    }

    /// Refuses `layouts` for messages that cannot have them.
    fn admit_layouts(&self, case: &Case, layouts: &Layouts) -> Result<(), String> {
        let id = case.info.id();
        if !case.info.has_layouts {
            return Err(format!(
                "{id} has no messages of the layout {layouts} (leave --layout out)"
            ));
        }
        if layouts.way() != Way::Datatype && !case.info.is_packed {
            return Err(format!(
                "{id} packs no messages between its calls, as in {layouts} (take --layout {})",
                layouts.datatype()
            ));
        }
        // A message to itself comes back as it was sent.
        if case.find(&HOPS) == Some(0) {
            self.require_one_layout(case)?;
        }
        let most = MAX_ELEMENTS.saturating_mul(case.element().unwrap_or(Element::U8).bytes());
        if case.length(&LENGTH_BYTES) > most {
            return Err(format!(
                "a layout has at most {MAX_ELEMENTS} elements (use messages of {most} bytes at most)"
            ));
        }
        self.blocks(case).map_or(Ok(()), |blocks| blocks.admit())
    }

    /// Refuses two layouts for messages that are sent from where they were received.
    ///
    /// # Errors
    /// A sentence with both layouts.
    pub fn require_one_layout(&self, case: &Case) -> Result<(), String> {
        let Some(layouts) = self.layouts(case).filter(|layouts| layouts.differ()) else {
            return Ok(());
        };
        let (id, one) = (case.info.id(), layouts.datatype());
        Err(format!("{id} has messages of one layout, unlike {layouts} (take --layout {one})"))
    }

    /// The blocks of each message of `case`, if it has a layout.
    pub fn blocks(&self, case: &Case) -> Option<Blocks> {
        let layouts = self.layouts(case).filter(|_| case.info.has_layouts)?;
        Some(layouts.of(case.length(&LENGTH_BYTES), case.element().unwrap_or(Element::U8)))
    }

    /// `case` with the bytes that travel as the length of its messages, for what it moves.
    pub fn moved(&self, case: &Case) -> Case {
        let data_bytes = self.blocks(case).map(|blocks| blocks.data_bytes() as u64);
        data_bytes.map_or(*case, |data_bytes| case.with(&LENGTH_BYTES, data_bytes))
    }

    /// Memory that one rank needs for `case`, in bytes: its messages with their gaps, and if it can pack them
    /// those in one piece.
    pub fn bytes_per_rank(&self, case: &Case) -> u64 {
        let of = case.info.bytes_per_rank;
        let Some(blocks) = self.blocks(case) else { return of(case, self) };
        let in_memory = of(&case.in_memory(&blocks), self);
        if !case.info.is_packed {
            return in_memory;
        }
        let data_bytes = blocks.data_bytes() as u64;
        let packed = &case.with(&LENGTH_BYTES, data_bytes);
        let packed = (case.info.packed_bytes_per_rank)(packed, self);
        in_memory.saturating_add(packed).saturating_add(data_bytes.saturating_mul(2))
    }

    /// Refuses a case that exceeds the memory limit.
    ///
    /// # Errors
    /// A sentence with both numbers.
    pub fn fits(&self, case: &Case) -> Result<(), String> {
        let bytes = self.buffers.bytes(self.bytes_per_rank(case));
        let cap_bytes = self.cap_bytes;
        if bytes <= cap_bytes {
            return Ok(());
        }
        Err(refusal::of_memory(bytes, cap_bytes))
    }

    /// The ranks of a load and of an echo beside it: the user's, or four whose routes share a link.
    ///
    /// # Errors
    /// A sentence with the reason, if there are none.
    pub fn cast(&self) -> Result<Cast, String> {
        self.require_ranks(4)?;
        if let Some(cast) = self.given_cast {
            return cast.admit_on(self.topology).map(|()| cast);
        }
        Cast::required_on(self.topology)
    }

    /// Refuses fewer than `n_needed` ranks.
    ///
    /// # Errors
    /// A sentence with both numbers, and the option of launchers.
    pub fn require_ranks(&self, n_needed: usize) -> Result<(), String> {
        let are = if self.n_ranks == 1 { "is" } else { "are" };
        if self.n_ranks >= n_needed {
            return Ok(());
        }
        let n_ranks = self.n_ranks;
        Err(format!(
            "needs at least {n_needed} ranks, there {are} {n_ranks} (ask for -n {n_needed})"
        ))
    }

    /// Refuses a distance at which rank 0 has no partner.
    ///
    /// # Errors
    /// A sentence with the distance and the largest one there is.
    pub fn require_hops(&self, hops: usize) -> Result<(), String> {
        if self.topology.hop_node(0, hops).is_some() {
            return Ok(());
        }
        let (hops, reached) = (count(hops, "hop"), count(self.topology.max_hops(0), "hop"));
        let ranks = count(self.n_ranks, "rank");
        let verb = if self.n_ranks == 1 { "reaches" } else { "reach" };
        Err(format!("no rank is {hops} from rank 0: {ranks} {verb} {reached}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Arrangement, AxisUse, KernelInfo, Series};
    use crate::layout::Layout;

    #[test]
    fn a_layout_decides_what_is_moved_and_where_it_lies() {
        static ECHO: KernelInfo = KernelInfo {
            name: "echo",
            axes: &[AxisUse::of(&LENGTH_BYTES, "8")],
            series: &[Series::one_way("echo")],
            has_layouts: true,
            ..KernelInfo::pair("test")
        };
        static OTHER: KernelInfo = KernelInfo { name: "other", has_layouts: false, ..ECHO };
        let words = "vect:8:4,vector:4:8:to:contiguous,packed:vector:4:8";
        let layouts = Layouts::list(words, Layout::indx).unwrap();
        let layouts: Vec<_> = layouts.into_iter().map(Arc::new).collect();
        let topology = Topology::hypercube(2);
        let plain = World::of(&topology);
        let world = World { layouts: &layouts, ..plain };
        let with = |info, layout| {
            Case::new(info, &[32]).on(Arrangement { layout: Some(layout), ..Arrangement::ALL })
        };
        let case = with(&ECHO, 0);
        let moved_of = |case: &Case, world: &World<'_>| {
            (ECHO.series[0].bytes_per_op)(&world.moved(case), world).unwrap_or(0)
        };
        let moved = |world: &World<'_>| moved_of(&case, world);
        // Two buffers of four blocks, one every 8 bytes.
        assert_eq!((moved(&plain), plain.bytes_per_rank(&case)), (32, 64));
        assert_eq!((moved(&world), world.bytes_per_rank(&case)), (16, 56));
        let in_memory = case.in_memory(&world.blocks(&case).unwrap());
        assert_eq!((in_memory.length(&LENGTH_BYTES), in_memory.unit()), (28, 28));
        assert_eq!(world.admit(&case), Ok(()));
        // As much data, and room for the longer one on both sides.
        let pair = with(&ECHO, 1);
        assert_eq!((moved_of(&pair, &world), world.bytes_per_rank(&pair)), (32, 2 * 60));
        assert_eq!(world.admit(&pair), Ok(()));
        let packed = world.admit(&with(&ECHO, 2)).unwrap_err();
        assert_eq!(
            packed,
            "test/echo packs no messages between its calls, as in packed:vector:4:8 (take --layout \
             vector:4:8)"
        );
        let other = with(&OTHER, 0);
        assert_eq!(plain.admit(&other), Ok(()));
        let sentence = "test/other has no messages of the layout vect:8:4 (leave --layout out)";
        assert_eq!(world.admit(&other), Err(sentence.into()));
        assert!(world.blocks(&other).is_none());
        let long = world.admit(&pair.with(&LENGTH_BYTES, 1 << 31)).unwrap_err();
        assert!(long.starts_with("a layout has at most 2147483647 elements"), "{long}");
    }

    #[test]
    fn refusals_say_what_is_missing() {
        let [one, three, four] = [1, 3, 4].map(Topology::hypercube);
        let [one, three, four] = [&one, &three, &four].map(World::of);
        let check = |found: Result<(), String>, expected: &str| {
            assert_eq!(found.unwrap_err(), expected);
        };
        check(one.require_ranks(2), "needs at least 2 ranks, there is 1 (ask for -n 2)");
        check(three.require_ranks(4), "needs at least 4 ranks, there are 3 (ask for -n 4)");
        check(four.require_hops(3), "no rank is 3 hops from rank 0: 4 ranks reach 2 hops");
        check(one.require_hops(1), "no rank is 1 hop from rank 0: 1 rank reaches 0 hops");
        assert_eq!(four.require_hops(2), Ok(()));
    }
}
