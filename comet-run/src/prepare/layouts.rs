//! Layouts of messages: an axis of every kernel that has some.

use std::sync::Arc;

use comet_core::kernel::Arrangement;
use comet_core::layout::{Layouts, Way};

use super::KernelPlan;
use crate::exit;
use crate::world::Origin;

/// Gives each case of `plan` each of `layouts`, the axis that varies the slowest. A kernel without layouts has the
/// first, for the sentence that refuses it.
pub(super) fn vary(plan: &mut KernelPlan, layouts: &[Arc<Layouts>]) {
    let n = if plan.info.has_layouts { layouts.len() } else { layouts.len().min(1) };
    if n == 0 {
        return;
    }
    let cases = std::mem::take(&mut plan.cases);
    let with = |layout| {
        let cases = cases.iter();
        cases.map(move |case| case.on(Arrangement { layout: Some(layout), ..case.arrangement() }))
    };
    plan.cases = (0..n).flat_map(with).collect();
}

/// Refuses layouts that need a library where there is none.
pub(super) fn admit(
    layouts: &[Arc<Layouts>],
    plans: &[KernelPlan],
    origin: &Origin,
) -> anyhow::Result<()> {
    // Kernels without layouts have a sentence of their own, which is the same over every transport.
    let have_layouts = plans.iter().any(|plan| plan.info.has_layouts);
    if matches!(origin, Origin::Outside { .. }) || !have_layouts {
        return Ok(());
    }
    let are_packed = plans.iter().any(|plan| plan.info.is_packed);
    let needs = |layouts: &&Arc<Layouts>| !are_packed || layouts.way() == Way::PackedByLibrary;
    match layouts.iter().find(needs) {
        None => Ok(()),
        Some(layouts) => Err(exit::usage(format!(
            "--layout {layouts} needs derived datatypes, which only MPI has (start the ranks under MPI, or \
             leave it out)"
        ))),
    }
}
