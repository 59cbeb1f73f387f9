//! Flags to a running process.
