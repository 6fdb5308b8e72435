#![doc = include_str!("../README.md")]

pub mod checkpoint;
pub mod error;
pub mod fs;
pub mod line_diff;
pub mod platform;
pub mod records;
pub mod watch;
pub mod workspace;
