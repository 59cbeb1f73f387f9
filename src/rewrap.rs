//! Rewrapping: what the server's content means to the client.
