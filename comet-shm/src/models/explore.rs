//! Parts of the models, and the search for the orderings that they need.

use std::collections::BTreeSet;
use std::iter::from_fn;
use std::num::NonZero;
use std::panic::{catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use loom::model::Builder;
use loom::thread;

use super::sync::{Site, take_used, weaken};

/// Explores a model that is long, with one interruption at the worst moment.
pub(super) fn long_model(model: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(model);
}

/// The orderings that `models` use and of which each can be weakened without any of them noticing;
/// `models` explore one model each. Only the models that use an ordering can notice, the shortest of
/// them first. Every core takes the next ordering.
pub(super) fn needless_orderings(models: &[fn()]) -> Vec<Site> {
    weaken(None);
    take_used();
    let mut models: Vec<_> = models.iter().map(|explore| explored(*explore)).collect();
    models.sort_by_key(|model| model.time);
    let used: BTreeSet<Site> = models.iter().flat_map(|model| &model.used).copied().collect();
    let used: Vec<Site> = used.into_iter().collect();
    // The models that go wrong say so, which is what they are for.
    set_hook(Box::new(|_| ()));
    let holds_without = |site: Site| {
        weaken(Some(site));
        let mut users = models.iter().filter(|model| model.used.contains(&site));
        users.all(|model| catch_unwind(model.explore).is_ok())
    };
    let next = AtomicUsize::new(0);
    // Relaxed: the number is all there is to see.
    let of_a_core = || {
        let sites = from_fn(|| used.get(next.fetch_add(1, Ordering::Relaxed)).copied());
        sites.filter(|site| holds_without(*site)).collect::<Vec<Site>>()
    };
    let needless = scope(|scope| {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let cores: Vec<_> = (0..cores).map(|_| scope.spawn(of_a_core)).collect();
        let found = cores.into_iter().map(|core| core.join().expect("wrong models are caught"));
        found.flatten().collect()
    });
    let _ = take_hook();
    needless
}

/// A model that has been explored once.
struct Explored {
    explore: fn(),
    /// The orderings that it uses.
    used: BTreeSet<Site>,
    time: Duration,
}

fn explored(explore: fn()) -> Explored {
    let start = Instant::now();
    explore();
    Explored { explore, used: take_used(), time: start.elapsed() }
}

/// Does `first` and `second` at the same time.
pub(super) fn together(first: impl FnOnce(), second: impl FnOnce() + 'static) {
    let other = thread::spawn(second);
    first();
    other.join().expect("a panic ends the model before");
}

/// Polls until `condition` holds; the other thread gets on meanwhile.
pub(super) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}
