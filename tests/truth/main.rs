//! Measurements in virtual time against the truth, which is known there to the picosecond.
//!
//! ```text
//!   times, contention   the kernels, against an oracle that follows the law of the machine
//!   closed_forms        the same against formulas, and the law found again from measurements
//!   collectives         algorithms of collectives against formulas, to the picosecond
//!   p2p                 messages between all ranks against formulas, drawn ones among them
//!   modes               modes of sends against formulas
//!   one_sided           calls of one-sided epochs against formulas
//!   patterns            patterns of scientific computing against formulas
//!   programs            random programs against the oracle
//!   engine              definitions, rules, the stop rule, what ranks agree on, comparisons
//!   delays              what depends on what: injected delays, barriers that ranks are late for
//!   conditions          seeds, clocks that are coarse or differ, odd and large rank counts
//!   oracle, recording   the truth: the law, and the calls of each kernel
//!   bench, machines     the simulated ranks and machines
//! ```

mod bench;
mod closed_forms;
mod collectives;
mod conditions;
mod contention;
mod delays;
mod engine;
mod machines;
mod modes;
mod one_sided;
mod oracle;
mod p2p;
mod patterns;
mod programs;
mod recording;
mod times;
