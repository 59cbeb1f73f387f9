//! What is promised of constrained decoding: whatever a model prefers, what it writes is what was
//! demanded; what is valid can be written; nothing hangs.

mod driver;
mod hostile;
mod instances;
mod kinds;
mod tagged;
mod thinking;
mod typed;
mod vocabularies;
mod ways;
