//! Server-sent events: bytes to events and back.
