//! The client's eyes: a lying server's replies, and the judge of what is passed on of them.
//!
//! A source of choices makes a demand, the server's right reply to it in the shape that is expected
//! there, and then lies: pieces in another order, fields of other types, keys twice, ends that are
//! none. What a client puts together from a success must satisfy the demand; what no reader may mind
//! must pass.

pub mod case;
pub mod chat;
pub mod clients;
pub mod demands;
pub mod fold;
pub mod frame;
pub mod hosted;
pub mod json;
pub mod judge;
pub mod lark;
pub mod lies;
pub mod mutate;
pub mod prefix;
pub mod reader;
pub mod responses;
pub mod source;
pub mod speak;
pub mod tagged;
pub mod tags;
pub mod values;
pub mod wires;
