//! Gemini's `generateContent`.

pub(super) mod server;
