//! Google's Interactions API (`google-genai` 3.6.1, `_gaos/types/interactions`; ai.google.dev/gemini-api/docs/interactions, revision
//! 2026-05-20), which Google asks its clients to use in place of `generateContent`.

pub mod client;
