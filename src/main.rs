//! The binary: flags to a running process; the only exit codes.

fn main() {}
