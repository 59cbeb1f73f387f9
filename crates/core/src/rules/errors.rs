//! Reads `errors.toml`: what errors mean, whichever server's they are.

use super::LaunchRule;
use super::compile::launch;
use super::facts::{NO_EFFORT, NO_FIELD, RENAMES, TO};
use crate::datafile::{File, Keys, RuleFault, Source, unknown};
use crate::ir::{Effort, Refusal};
use std::sync::Arc;

/// What stands for a field's name.
const FIELD: &str = "$field";

/// What errors mean, whichever server's they are.
#[derive(Debug, Clone)]
pub(super) struct Errors {
    /// What chat templates answer to what they refuse: each fact by itself, in the order in which they are tried.
    pub(super) templates: Vec<LaunchRule>,
    /// What servers of any dialect may answer.
    pub(super) common: Vec<LaunchRule>,
    /// What is answered to fields that carry no demand, by servers that do not know them.
    pub(super) fields: Vec<LaunchRule>,
    /// Pieces of what is said of a prompt that is too long.
    pub(super) too_long: Arc<[String]>,
    /// Pieces of what is said of a request that is itself at fault, whatever the status.
    pub(super) refused: Arc<[String]>,
    /// Pieces of what is said where the model wrote something of which the server makes nothing.
    pub(super) garbled: Arc<[String]>,
    /// Pieces of what is said of a key that is made for other questions than this.
    pub(super) limited_key: Arc<[String]>,
}

/// Reads them.
pub(super) fn errors(source: Source<'_>) -> Result<Errors, Vec<RuleFault>> {
    let mut file = File::new(source);
    let Some(document) = file.document() else {
        return Err(file.faults);
    };
    let mut keys = Keys::new(0..0, document.get_ref());
    let mut rules = Vec::new();
    for mut keys in keys.tables(&mut file, "template") {
        let contains = keys.required(&mut file, "contains", "a piece of the error message");
        let remedy = keys.required(&mut file, "remedy", "what to change in the request");
        let facts = keys.strings(&mut file, "facts");
        keys.finish(&mut file);
        for fact in &facts {
            let is_effort = fact.get_ref().strip_prefix(NO_EFFORT).and_then(Effort::of);
            if Refusal::of_fact(fact.get_ref()).is_none() && is_effort.is_none() {
                let facts: Vec<String> = (Refusal::WORDS.iter())
                    .map(|(word, _)| format!("refuses_{word}"))
                    .collect();
                unknown(&mut file, fact, "fact", facts.iter().map(String::as_str));
            }
        }
        if let (Some(contains), Some(remedy)) = (contains, remedy) {
            rules.extend(facts.into_iter().map(|fact| LaunchRule {
                contains: contains.get_ref().clone(),
                remedy: remedy.get_ref().clone(),
                fact: Some(fact.into_inner()),
                unsure: false,
                is_field: false,
                sure_of_probe: false,
                room: None,
            }));
        }
    }
    let common = launch(&mut file, &mut keys);
    let fields = fields(&mut file, &mut keys);
    let tables = ["context_length", "refused", "garbled", "limited_key"];
    let [too_long, refused, garbled, limited_key] = tables.map(|table| {
        let mut pieces = Vec::new();
        for mut keys in keys.tables(&mut file, table) {
            let contains = keys.required(&mut file, "contains", "a piece of the error message");
            keys.finish(&mut file);
            pieces.extend(contains.map(toml::Spanned::into_inner));
        }
        pieces
    });
    keys.finish(&mut file);
    let errors = Errors {
        templates: rules,
        common,
        fields,
        too_long: too_long.into(),
        refused: refused.into(),
        garbled: garbled.into(),
        limited_key: limited_key.into(),
    };
    match file.faults.is_empty() {
        true => Ok(errors),
        false => Err(file.faults),
    }
}

/// Each optional field in each of the ways in which servers say that they do not know one.
fn fields(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Vec<LaunchRule> {
    let mut names = Vec::new();
    for mut keys in keys.tables(file, "optional_field") {
        let name = keys.required(file, "name", "a field that carries no demand");
        let fact = keys.string(file, "fact").map(toml::Spanned::into_inner);
        let instead = keys.string(file, "instead");
        keys.finish(file);
        let Some(name) = name.map(toml::Spanned::into_inner) else {
            continue;
        };
        let (fact, remedy) = match instead.map(toml::Spanned::into_inner) {
            Some(other) => (
                Some(format!("{RENAMES}{name}{TO}{other}")),
                format!("say {other} in place of {name}, which this server does not know"),
            ),
            None => (
                fact,
                format!("leave out {name}: this server does not know it"),
            ),
        };
        let fact = fact.unwrap_or_else(|| format!("{NO_FIELD}{name}"));
        names.push((name, fact, remedy));
    }
    let mut rules = Vec::new();
    for mut keys in keys.tables(file, "unknown_field") {
        let contains = keys.required(file, "contains", "a piece of the error message");
        keys.finish(file);
        let Some(contains) = contains else { continue };
        if !contains.get_ref().contains(FIELD) {
            let message = "it does not say where the field's name stands";
            file.fault(&contains.span(), message, "write `$field` in its place");
        }
        rules.extend(names.iter().map(|(name, fact, remedy)| LaunchRule {
            contains: contains.get_ref().replace(FIELD, name),
            remedy: remedy.clone(),
            fact: Some(fact.clone()),
            // The words may be of something else that is called so.
            unsure: true,
            is_field: true,
            sure_of_probe: false,
            room: None,
        }));
    }
    rules
}
