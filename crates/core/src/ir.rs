//! What can be said, as plain data: the request, the contract its reply must meet, the events
//! of a reply, the plan that rewriting hands to rewrapping, and losses. No wire types, no IO.

mod by_choice;
mod call_ids;
mod constraint;
mod contract;
mod delta;
mod draft;
mod event;
mod fields;
mod history;
mod ids;
mod loss;
mod odd;
mod order;
mod origin;
mod place;
mod plan;
mod repair;
mod reply;
mod request;
mod seal;
mod thinking;
mod thoughts;
mod tool;
mod tool_names;
mod turn;
mod violation;
mod wire;

pub use by_choice::ByChoice;
pub use call_ids::CallIds;
pub use constraint::{ClientConstraint, Constraint, Notation};
pub use contract::{Calls, Contract};
pub use delta::{CallKind, Delta, FinishReason};
pub use draft::Draft;
pub use event::{Event, HostedCall, NoCall, Of, Sealed, Start, Usage};
pub use fields::{Fields, raw, raw_string};
pub use history::{Asides, History, Prefill, Refusal, Refusals, Sealing};
pub use ids::Ids;
pub use loss::{EnforcedBy, Loss};
pub use origin::Origin;
pub use place::Place;
pub use plan::{Plan, Rewrap, Strategy};
pub use repair::{Repair, RepairStep, Repairs};
pub use reply::{Choice, Reply};
pub use request::Request;
pub use seal::{Seal, Signer};
pub use thinking::{Amount, Effort, Thinking};
pub use thoughts::{Begin, Thoughts};
pub use tool::{Hosted, OwnCalls, Published, Tool, ToolChoice, ToolInput};
pub use tool_names::{plain_key, plain_name};
pub use turn::{
    Behind, Call, CallInput, Claimed, Edits, Failed, Held, Part, Role, Stated, Turn, image_type,
    media_type,
};
pub use violation::{Quote, Violation};
pub use wire::{Framing, Wire};
