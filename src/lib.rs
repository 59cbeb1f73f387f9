//! Isogloss translates structured-output dialects between LLM clients and inference servers.
//!
//! This package is the program around the pure core (`isogloss-core`), the cache of compiled
//! constraints (`isogloss-compile`) and the decoding worker (`isogloss-worker`). The modules below
//! are in row order: a module imports only from rows above its own.

// row 0: configuration and telemetry
pub mod config;
pub mod telemetry;

// row 1: reaching a server, being reached in TLS, and what is kept for clients
pub mod store;
pub mod tls;
pub mod upstream;

// row 2: the two listeners
pub mod admin;
pub mod proxy;

// row 3: flags to a running process
pub mod cli;
