//! The `loopfit` command.
fn main() {}
