//! The admin listener: metrics, health, capabilities.
