//! Isogloss translates structured-output dialects between LLM clients and inference servers.
//!
//! This package is the program around the pure core (`isogloss-core`), the cache of compiled
//! constraints (`isogloss-compile`) and the decoding worker (`isogloss-worker`). The modules below
//! are in row order: a module imports only from rows above its own.

// row 0: telemetry, and what became of the last requests
pub mod journal;
pub mod telemetry;

// row 1: configuration
pub mod config;

// row 2: reaching a server, being reached in TLS, and what is kept for clients
pub mod store;
pub mod tls;
pub mod upstream;

// row 3: the two listeners
pub mod admin;
pub mod proxy;

// row 4: flags to a running process
pub mod cli;
