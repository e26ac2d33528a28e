//! The protocols of this crate, explored by loom under every order in which two ranks may meet, and
//! under every old value that a load may still see.
//!
//! The code is that of the crate, with a tiny geometry (see `layout`), over the atomics of
//! [`sync`]. All models are explored as they are, and once more with each ordering that they use
//! weakened to nothing: then one of them must go wrong, or the ordering is stronger than needed.
//! Run by `scripts/loom.sh`.

pub(crate) mod segment;
pub(crate) mod sync;

#[cfg(test)]
mod collective;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod rendezvous;
#[cfg(test)]
mod ring;
#[cfg(test)]
mod sleep;
#[cfg(test)]
mod whole;
#[cfg(test)]
mod window;

/// A test for each model, and the list of all; each is explored by what stands before it.
#[cfg(test)]
macro_rules! models {
    ($($explore:path => $($module:ident::$name:ident),*;)*) => {
        $($(#[test]
        fn $name() {
            $explore($module::$name);
        })*)*

        const MODELS: &[fn()] = &[$($(|| $explore($module::$name)),*),*];
    };
}

#[cfg(test)]
models! {
    loom::model =>
        ring::a_line_is_read_whole_and_used_again_only_after_it_was_read,
        ring::a_run_of_lines_arrives_whole_and_in_order,
        ring::a_chunk_is_read_whole_and_used_again_only_after_it_was_read,
        ring::a_reply_slot_is_written_only_by_who_has_read_it,
        ring::messages_in_the_ring_and_on_the_reply_slot_stay_in_order,
        rendezvous::a_lent_message_is_changed_only_after_it_was_read,
        rendezvous::a_message_that_is_held_is_changed_only_after_its_receipt,
        rendezvous::a_message_that_both_copy_is_there_once_the_receiver_says_so,
        sleep::a_rank_that_falls_asleep_is_woken,
        sleep::a_rank_that_falls_asleep_twice_is_woken_twice,
        sleep::a_rank_that_two_find_asleep_sees_what_both_have_published,
        sleep::a_bell_that_is_rung_without_a_look_is_heard,
        collective::what_a_rank_brings_to_a_meeting_is_there_once_it_has_come,
        window::exclusive_locks_exclude_each_other,
        window::shared_locks_exclude_exclusive_ones,
        window::who_accumulates_is_alone,
        window::a_part_is_its_origins_between_post_and_wait,
        window::what_is_flushed_is_at_its_target,
        whole::a_rank_that_waits_for_a_message_gets_it,
        whole::messages_of_two_tags_are_received_in_the_other_order,
        whole::what_was_sent_before_a_barrier_is_there_after_it,
        whole::broadcasts_of_either_root_arrive;
    explore::long_model =>
        whole::both_ranks_get_the_sum,
        whole::both_ranks_get_the_sums_of_vectors,
        whole::a_cell_is_written_again_only_after_the_root_has_read_it,
        whole::long_parts_are_taken_from_where_they_lie,
        whole::long_vectors_are_combined_where_they_lie,
        collective::a_buffer_is_changed_only_after_the_others_have_read_it,
        collective::a_buffer_is_read_only_after_the_others_have_written_it,
        collective::a_slice_of_all_vectors_has_one_rank,
        collective::a_place_in_the_ring_is_used_again_only_after_it_was_read,
        whole::a_line_of_broadcasts_is_used_again_only_after_it_was_read,
        window::a_shared_lock_that_another_lets_in_sees_what_was_written_before,
        window::a_rank_that_waits_for_a_lock_gets_it,
        window::a_rank_that_waits_for_its_turn_gets_it;
}

// Too long to be explored once more for each ordering.

#[cfg(test)]
#[test]
fn a_rank_that_waits_for_room_gets_it() {
    loom::model(whole::a_rank_that_waits_for_room_gets_it);
}

#[cfg(test)]
#[test]
fn three_ranks_leave_a_barrier_only_when_all_have_come() {
    explore::long_model(whole::three_ranks_leave_a_barrier_only_when_all_have_come);
}

#[cfg(test)]
#[test]
fn each_ordering_is_needed_by_a_model() {
    let needless = explore::needless_orderings(MODELS);
    assert!(needless.is_empty(), "all models hold also without these orderings: {needless:#?}");
}
