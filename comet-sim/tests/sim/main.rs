//! Tests of simulations as their users see them, in one program, which is built sooner than three.

mod clocks;
mod conformance;
mod in_flight;
mod messages;
mod modes;
mod windows;
