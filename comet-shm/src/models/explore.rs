//! Parts of the models, and the search for the orderings that they need.

use std::panic::{catch_unwind, set_hook, take_hook};

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
/// `models` explore one model each.
pub(super) fn needless_orderings(models: &[fn()]) -> Vec<Site> {
    weaken(None);
    take_used();
    models.iter().for_each(|explore| explore());
    let used = take_used();
    // The models that go wrong say so, which is what they are for.
    set_hook(Box::new(|_| ()));
    let holds_without = |site: &Site| {
        weaken(Some(*site));
        models.iter().all(|explore| catch_unwind(explore).is_ok())
    };
    let needless = used.into_iter().filter(holds_without).collect();
    let _ = take_hook();
    weaken(None);
    needless
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
