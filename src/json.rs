//! JSON text as bytes: the strict check of a request body, and the incremental scanner.
