//! Regexes, choices and grammars: readers, printers, and the byte-level matcher.
