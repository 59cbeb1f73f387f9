//! What can be said, as plain data: the request, the contract its reply must meet, the events
//! of a reply, the plan that rewriting hands to rewrapping, and losses. No wire types, no IO.

mod constraint;
mod contract;
mod delta;
mod draft;
mod event;
mod fields;
mod ids;
mod loss;
mod origin;
mod place;
mod plan;
mod repair;
mod reply;
mod request;
mod tool;
mod turn;
mod violation;
mod wire;

pub use constraint::{ClientConstraint, Constraint, Notation};
pub use contract::{Calls, Contract};
pub use delta::{CallKind, Delta, FinishReason};
pub use draft::Draft;
pub use event::{Event, NoCall, Of, Sealed, Start, Usage};
pub use fields::{Fields, raw, raw_string};
pub use ids::Ids;
pub use loss::{EnforcedBy, Loss};
pub use origin::Origin;
pub use place::Place;
pub use plan::{Plan, Rewrap, Strategy};
pub use repair::{Repair, RepairStep, Repairs};
pub use reply::{Choice, Reply};
pub use request::Request;
pub use tool::{Tool, ToolChoice, ToolInput};
pub use turn::{Call, CallInput, Part, Role, Stated, Turn};
pub use violation::{Quote, Violation};
pub use wire::{Framing, Wire};
