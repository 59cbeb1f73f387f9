//! TGI's `/generate`.

pub(super) mod server;
