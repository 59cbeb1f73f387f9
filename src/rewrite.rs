//! Rewriting: the request in the server's own words.
