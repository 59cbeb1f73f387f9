//! JSON Schema: guards, canonical form, merging several tools' schemas, the validator.
