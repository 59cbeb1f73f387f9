//! Who may do what: which paths the operator's key goes along with, whose requests are taken, and over which wire.

mod binary;
mod clients;
mod forward;
mod framing;
mod names;
mod reach;
mod tls;
mod wire;
