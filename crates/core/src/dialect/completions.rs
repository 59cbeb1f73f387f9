//! Legacy Completions, OpenAI's `/v1/completions`: a prompt that goes through no chat template, and the text
//! that follows it. Servers of Chat's wire have it beside, with the same words for constraints.

pub mod client;
pub(super) mod server;
