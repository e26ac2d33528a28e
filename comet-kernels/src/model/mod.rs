//! What models of the machine follow from, such as the parameters of `LogGP`.

pub mod injection;
pub mod pairs;
