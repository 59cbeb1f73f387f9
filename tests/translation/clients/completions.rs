//! Clients of legacy Completions.
