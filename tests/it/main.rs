//! End-to-end tests: the program as its users meet it, one module per concern.

mod architecture;
mod calibrate;
mod check;
mod cli;
mod compare;
mod compat;
mod exports;
mod failures;
mod figures;
mod formats;
mod health;
mod launchers;
mod method;
mod older;
mod outputs;
mod processes;
mod readers;
mod records;
mod report;
mod reproduce;
mod runs;
mod simulation;
mod support;
mod truth;
