//! The data listener: the tower stack and the exchange over HTTP.
