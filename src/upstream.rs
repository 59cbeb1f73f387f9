//! Reaching a server: pool, health, identification.
