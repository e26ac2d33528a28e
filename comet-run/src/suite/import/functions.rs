//! Measurements of `SKaMPI`, and the kernels that stand for them: those that name them in their aliases.

use comet_core::kernel::{KernelInfo, LENGTH_BYTES, Participants};

use super::expression::Counts;
use crate::catalogue;

/// A measurement: the function of a script, or the type of a parameter file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// The kernel.
    pub(super) info: &'static KernelInfo,
    /// The algorithm that it is of a collective; empty for that of the transport.
    pub(super) algorithm: &'static str,
}

/// Keys of an entry with their values.
pub(super) type Keys = Vec<(&'static str, String)>;

/// Start of the aliases, which a type's number or a function's name follows.
const ALIAS: &str = "SKaMPI:";
/// The axis of kernels that look for their two ranks.
pub(super) const PAIR: &str = "pair";
/// Start of the names of functions in some of them.
const MPI: &str = "MPI_";

/// Functions of scripts whose names are no aliases, and the types that do the same.
const TYPES: &[(&str, u32)] = &[
    ("Pingpong_Send_Recv_AT", 2),
    ("Bcast", 17),
    ("Barrier", 18),
    ("Reduce", 19),
    ("Alltoall", 20),
    ("Gather", 33),
    ("Scatter", 35),
    ("Allreduce", 36),
    ("Reduce_scatter", 38),
    ("Allgather", 39),
    ("Scatterv", 40),
    ("Gatherv", 41),
    ("Allgatherv", 42),
    ("Alltoallv", 43),
];

/// Functions of scripts by hand that an algorithm of a collective is.
const ALGORITHMS: &[(&str, &str, &str)] = &[
    ("Bcast_using_Send_Recv", "imb/bcast", "binary"),
    ("Alltoall_using_Isend_Irecv", "imb/alltoall", "linear"),
    ("Alltoallv_using_Isend_Irecv", "imb/alltoallv", "linear"),
];

/// Functions of scripts, or starts of their names, for which no kernel can stand, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "MPI_IO_open_close",
        "view and atomicity of the file are set in its time (imb-io/open_close sets neither)",
    ),
    ("MPI_IO_open", "it is the open alone (imb-io/open_close has a write and the close too)"),
    ("MPI_IO_close", "it is the close alone (imb-io/open_close has the open and a write too)"),
    ("MPI_IO_delete", "a file is removed in its time (imb-io removes files outside of the clock)"),
    ("MPI_IO_file_seek", "a pointer is moved alone (imb-io moves none in its times)"),
    ("MPI_IO_preallocate", "a file gets its room alone (imb-io has none of that)"),
    ("MPI_IO_write_and_read", "ranks write and read in turn (imb-io has either)"),
    (
        "MPI_IO_write_",
        "pieces of a new file, with seeks, and one sync (imb-io writes over one file, and completes by a sync, a \
         barrier and a sync)",
    ),
    (
        "MPI_IO_read_file",
        "the file is opened and closed in its time (imb-io reads from one that is open)",
    ),
    (
        "MPI_IO_read_and_distribute",
        "the file is opened and closed, and its parts are sent to all ranks, in its time (imb-io reads from one \
         that is open)",
    ),
    (
        "MPI_IO_read_",
        "pieces of a file that is opened anew, with seeks, and a sync (imb-io reads on in one file without)",
    ),
];

/// Reason for which no kernel stands for the function `name` of scripts.
pub(super) fn refusal(name: &str) -> String {
    match REFUSED.iter().find(|(start, _)| name.starts_with(start)) {
        Some((_, reason)) => format!("{name}, for which no kernel stands: {reason}"),
        None => format!("{name}, for which no kernel stands"),
    }
}

impl Function {
    /// The measurement that scripts call `name`.
    pub(super) fn of_script(name: &str) -> Option<Self> {
        if let Some((_, kernel, algorithm)) = ALGORITHMS.iter().find(|(of, ..)| *of == name) {
            let info = catalogue::infos().into_iter().find(|info| info.id() == *kernel)?;
            return Some(Self { info, algorithm });
        }
        match TYPES.iter().find(|(of, _)| *of == name) {
            Some((_, number)) => Self::of_type(*number),
            None => Self::aliased(|alias| {
                let bare = alias.strip_prefix(MPI).unwrap_or(alias);
                bare.eq_ignore_ascii_case(name) && name.parse::<u32>().is_err()
            }),
        }
    }

    /// The measurement of the type `number` of parameter files.
    pub(super) fn of_type(number: u32) -> Option<Self> {
        Self::aliased(|alias| alias == number.to_string())
    }

    /// That of the first kernel with an alias that `is_it`.
    fn aliased(is_it: impl Fn(&str) -> bool) -> Option<Self> {
        let of = |info: &&'static KernelInfo| {
            info.aliases.iter().filter_map(|alias| alias.strip_prefix(ALIAS)).any(&is_it)
        };
        let info = catalogue::infos().into_iter().find(of)?;
        Some(Self { info, algorithm: "" })
    }

    /// True if it runs on two ranks.
    pub(super) fn is_of_pair(&self) -> bool {
        self.info.participants == Participants::Pair || self.info.n_ranks == Some(2)
    }

    /// True if its first two arguments are a count and a datatype.
    pub(super) fn has_length(&self) -> bool {
        self.has(LENGTH_BYTES.name)
    }

    /// True if `SKaMPI` 5 measures it without the assertion of its argument, as each call of posts and starts: its
    /// `extract_onesided_assertions` begins with none, and only takes away.
    pub(super) fn drops_assertions(&self) -> bool {
        const OF_PEERS: [&str; 5] = [
            "skampi/win_post",
            "skampi/win_start",
            "skampi/win_complete",
            "skampi/win_wait",
            "skampi/win_test",
        ];
        OF_PEERS.contains(&&*self.info.id())
    }

    /// `keys` with the root, the delay, the late rank and the puts that the numbers of a script behind its
    /// datatypes ask for: those of epochs are an assertion, whether to put, a delay and a late rank, those of
    /// combined puts how many there are, and those of collectives a root, a delay and a late rank.
    ///
    /// # Errors
    /// One sentence for a call without the put that its kernel has, or for a number that no sweep is or no
    /// axis has.
    pub(super) fn with_numbers(&self, numbers: &[Counts], mut keys: Keys) -> Result<Keys, String> {
        let mut set = |key, value: &str| {
            keys.retain(|(of, _)| *of != key);
            keys.push((key, value.to_owned()));
        };
        let all = |counts: &Counts| counts.sweep(1.0, f64::INFINITY);
        match (self.info.id().as_str(), numbers) {
            (
                id @ ("skampi/win_complete" | "skampi/win_wait" | "skampi/win_test"),
                [_, puts, delay @ ..],
            ) => {
                if *puts == Counts::One(0.0) {
                    set(LENGTH_BYTES.name, "0");
                }
                if let Some(delay) = delay.first() {
                    let of_any = if id == "skampi/win_test" { late(delay)? } else { all(delay)? };
                    set("delay_us", &of_any);
                }
            }
            ("skampi/win_start", [_, delay, rank]) => {
                set("delay_us", &late(delay)?);
                match rank {
                    Counts::One(number) if *number < 0.0 => set("late_rank", "0"),
                    Counts::One(number) if *number > 0.0 => set("late_rank", &all(rank)?),
                    Counts::Last => set("late_rank", "max"),
                    _ => return Err("a late rank that is rank 0, or another each time".into()),
                }
            }
            ("skampi/put_dedicated" | "skampi/put_fence_behind", [n_puts]) => {
                set("window", &all(n_puts)?);
            }
            ("skampi/win_fence_close" | "skampi/win_fence_both", [.., Counts::One(0.0)]) => {
                return Err("a fence without a put before".into());
            }
            ("skampi/delayed_alltoall", [delay, late])
            | ("skampi/delayed_gather", [Counts::One(0.0), delay, late]) => {
                // SKaMPI has seconds here.
                set("delay_us", &delay.sweep(1e6, f64::INFINITY)?);
                set("late_rank", &rank(late)?);
            }
            (_, [root]) if self.has("first_root") && *root != Counts::One(0.0) => {
                set("first_root", &rank(root)?);
            }
            (id, [_, ..])
                if !(self.info.prepares_each || self.is_of_pair())
                    && numbers.iter().any(|number| *number != Counts::One(0.0)) =>
            {
                return Err(format!("a number other than 0 that {id} has no axis for"));
            }
            _ => (),
        }
        // The last rank of all is there among all of them alone.
        if numbers.contains(&Counts::Last) && !self.is_of_pair() {
            set("procs", "max");
        }
        Ok(keys)
    }

    /// True if the kernel varies the axis `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.info.axes.iter().any(|used| used.axis.name == name)
    }
}

/// The sweep of delays of which none is 0: there the other ranks are late too, by nothing, and not before.
fn late(delays: &Counts) -> Result<String, String> {
    let sweep = delays.sweep(1.0, f64::INFINITY)?;
    if sweep.split([',', '.']).any(|value| value == "0") {
        return Err("a delay of 0, in which the other ranks still come last".into());
    }
    Ok(sweep)
}

/// The sweep of `numbers` of ranks.
fn rank(numbers: &Counts) -> Result<String, String> {
    match numbers {
        Counts::Last => Ok("max".into()),
        Counts::Max => Err("a rank behind the last".into()),
        Counts::One(number) if *number < 0.0 => Err(format!("the rank {number}, which is none")),
        numbers => numbers.sweep(1.0, f64::INFINITY),
    }
}

/// Datatypes of MPI: their names there and as values of an axis, and their sizes in bytes.
pub(super) const DATATYPES: &[(&str, &str, u64)] = &[
    ("MPI_BYTE", "byte", 1),
    ("MPI_CHAR", "char", 1),
    ("MPI_INT", "int", 4),
    ("MPI_LONG", "long", 8),
    ("MPI_FLOAT", "float", 4),
    ("MPI_DOUBLE", "double", 8),
];

/// Operators of MPI, and their names as values of an axis.
pub(super) const OPERATORS: &[(&str, &str)] =
    &[("MPI_SUM", "sum"), ("MPI_PROD", "prod"), ("MPI_MIN", "min"), ("MPI_MAX", "max")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_of_a_type_or_a_function_is_imported() {
        for info in catalogue::infos() {
            for alias in info.aliases.iter().filter_map(|alias| alias.strip_prefix(ALIAS)) {
                let found = match alias.parse() {
                    Ok(number) => Function::of_type(number),
                    Err(_) => Function::of_script(alias.strip_prefix(MPI).unwrap_or(alias)),
                };
                assert!(found.is_some(), "{alias} of {}", info.id());
            }
        }
    }

    #[test]
    fn types_and_functions_have_the_kernels_that_name_them() {
        let of_type = |number| Function::of_type(number).map(|of| of.info.id());
        for number in (1..=28).chain(33..=46) {
            assert!(of_type(number).is_some(), "type {number}");
        }
        assert_eq!([29, 47].map(of_type), [None, None]);
        assert_eq!(of_type(38).as_deref(), Some("osu/reduce_scatter"));
        for (name, number) in TYPES {
            let of_script = Function::of_script(name).map(|of| of.info.id());
            assert_eq!(of_script, of_type(*number), "{name}");
        }
        let pair = Function::of_script("Pingpong_Sendrecv_replace").unwrap();
        assert_eq!((pair.is_of_pair(), pair.has_length()), (true, true));
        let barrier = Function::of_script("Barrier").unwrap();
        assert_eq!((barrier.is_of_pair(), barrier.has_length()), (false, false));
    }

    #[test]
    fn the_built_in_suite_measures_the_kernel_of_each_type() {
        let suite = crate::suite::read("builtin:skampi-1998", &[]).unwrap();
        for entry in &suite.entries {
            let number = entry.id.rsplit('-').find_map(|part| part.parse().ok());
            let function = number.and_then(Function::of_type).unwrap();
            assert_eq!(entry.args.plan.select, [function.info.id()], "{}", entry.id);
        }
    }
}
