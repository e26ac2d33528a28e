//! The suite `health`: what tells ranks, hosts and links that stand out from the others.

pub mod noise;
pub mod pairs;
