//! End-to-end tests: the program as its users meet it, one module per concern.

mod acceptance;
mod architecture;
mod buffers;
mod cli;
mod commands;
mod compare;
mod compat;
mod documents;
mod exports;
mod failures;
mod formats;
mod help;
mod launchers;
mod launches;
mod method;
mod odd;
mod outputs;
mod outside;
mod p2p;
mod remote;
mod runs;
mod simulation;
mod storage;
mod support;
mod truth;
mod windows;
